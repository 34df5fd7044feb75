"""How the review desk holds up: a large queue, a hub, and many reviewers at once.

First a network of 100,000 accounts with one hub of 50,000 neighbours is opened in a real browser (where Chromium and
Playwright are installed; else over plain HTTP): seconds from a click to what it asked for. Then 50 reviewers log in and
work for a while, each as a page does: look at the queue, open a case, read its decision, decide, now and then send the
same click twice or take a decision back. Half of them pick from the same forty nodes, so that they get in each
other's way. After that every acknowledged decision must be in the database once, and nothing else.

    python benchmarks/review_desk.py                     # everything, 60 seconds of load for each database
    python benchmarks/review_desk.py --seconds 600       # ten minutes each
    python benchmarks/review_desk.py --only load --db sqlite
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import calirare as cr
from calirare.review.store import DecisionStore

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reference"))
from private_postgres import NoPostgresError, private_postgres  # noqa: E402

TOKEN = "a token for the benchmark only"
HUB = 7
ON_SCREEN = 13
"""Rows of the queue that a window of 900 pixels shows, and whose reasons it asks for."""


def make_model(folder: Path, num_nodes: int, num_neighbours: int) -> None:
    """A fitted model whose node `HUB` has `num_neighbours` neighbours."""
    graph = cr.make_transactions(num_nodes=num_nodes, labelled_share=300 / num_nodes, seed=0)
    others = np.setdiff1d(np.arange(num_nodes), [HUB])[:num_neighbours]
    spokes = np.vstack([np.full(others.size, HUB), others])
    graph = replace(graph, edge_index=np.hstack([graph.edge_index, spokes]))
    cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=30)).fit(graph).save(folder, graph=graph)


@contextmanager
def running_desk(model: Path, *words: str) -> Iterator[str]:
    """The address of a desk in a process of its own."""
    command = [sys.executable, "-m", "calirare", "review", str(model), "--no-open", "--port", "0", "--json", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            assert process.stdout is not None
            lines.append(process.stdout.readline())
            if not lines[-1]:
                raise SystemExit("the desk did not start")
        try:
            yield str(json.loads("".join(lines))["url"])
        finally:
            process.terminate()  # Ctrl-C would not do: programs started in the background ignore it
            process.wait(30)


class Reviewer:
    """A browser's requests without the browser: one connection, one session."""

    def __init__(self, url: str, name: str | None = None) -> None:
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)
        self.headers = {"Origin": url}
        self.times: dict[str, list[float]] = defaultdict(list)
        if name is not None:
            form = urllib.parse.urlencode({"reviewer": name, "token": TOKEN})
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            _, headers, _ = self.send("login", "POST", "/login", form.encode(), kind)
            self.headers["Cookie"] = headers["Set-Cookie"].split(";")[0]

    def send(
        self, what: str, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, Any, bytes]:
        started = time.perf_counter()
        self.connection.request(method, path, body, {**self.headers, **headers})
        answer = self.connection.getresponse()
        content = answer.read()
        self.times[what].append(time.perf_counter() - started)
        return answer.status, answer.headers, content

    def post(self, what: str, path: str, data: Any) -> tuple[int, Any]:
        code, _, content = self.send(
            what, "POST", path, json.dumps(data).encode(), {"Content-Type": "application/json"}
        )
        return code, json.loads(content) if content else None

    def callback(self, what: str, outputs: list[str], inputs: dict[str, Any], state: dict[str, Any]) -> Any:
        """What a page asks when something on it changes."""

        def parts(values: dict[str, Any]) -> list[dict[str, Any]]:
            return [
                {"id": key.split(".")[0], "property": key.split(".")[1], "value": value}
                for key, value in values.items()
            ]

        places: Any = [{"id": one.split(".")[0], "property": one.split(".")[1]} for one in outputs]
        single = len(outputs) == 1
        body = {
            "output": outputs[0] if single else ".." + "...".join(outputs) + "..",
            "outputs": places[0] if single else places,
            "inputs": parts(inputs),
            "state": parts(state),
            "changedPropIds": list(inputs),
        }
        code, answer = self.post(what, "/_dash-update-component", body)
        if code != 200:
            raise SystemExit(f"{what}: {code} {answer}")
        return answer["response"]

    def queue(self, start: int, view: dict[str, Any] | None = None, sort: Any = ()) -> dict[str, Any]:
        asked = {"start": start, "stop": start + 100, "sort": list(sort), "filter": {}, "view": view or {}}
        code, found = self.post("queue", "/api/rows", asked)
        if code != 200:
            raise SystemExit(f"queue: {code} {found}")
        shown = [row["id"] for row in found["rows"][:ON_SCREEN]]
        if shown:
            self.post("reasons on screen", "/api/reasons", {"nodes": shown})
        return dict(found)

    def open_case(self, name: str) -> Any:
        outputs = ["case-head.data-painted", "case-columns.className", "case.data", "note.value"]
        asked = {"asked-case.data": {"id": name}}
        self.callback("case", outputs, asked, {"view.data": {}, "grid-model.data": None, "case.data": None})
        parts = ("probability", "picture", "neighbours", "attributes", "record", "edges", "why")
        inputs = {"case.data": {"id": name}, "acted.data": None}
        return self.callback(
            "what is known of a case",
            [f"case-{part}.{'children' if part == 'picture' else 'data-painted'}" for part in parts],
            inputs,
            {},
        )

    def pulls(self, name: str) -> Any:
        inputs = {"case.data": {"id": name}, "acted.data": None}
        return self.callback("labels that pull", ["case-pulls.data-painted"], inputs, {})

    def seen(self, name: str) -> int:
        outputs = ["decision-now.data-painted", "history.data-painted", "team-now.data-painted", "seen.data"]
        inputs = {"case.data": {"id": name}, "acted.data": None, "asked-decision.data": None}
        answer = self.callback("decision of a case", outputs, inputs, {})
        return int(answer["seen"]["data"]["seen"])


def measure_pages(model: Path, browser: str | None) -> None:
    with running_desk(model) as url:
        reviewer = Reviewer(url)
        first = reviewer.queue(0)
        hub = str(json.loads((model / "hub.json").read_text()))
        print(f"\n{first['count']:,} nodes in the queue; seconds, over HTTP")
        questions = {
            "first page": lambda: reviewer.queue(0),
            "page in the middle": lambda: reviewer.queue(50_000),
            "sorted by interval": lambda: reviewer.queue(0, sort=[{"colId": "lower", "sort": "desc"}]),
            "sorted by name": lambda: reviewer.queue(0, sort=[{"colId": "id", "sort": "desc"}]),
            "searched": lambda: reviewer.queue(0, {"search": "77"}),
            "other costs": lambda: reviewer.queue(0, {"miss": 300}),
            "a case": lambda: reviewer.open_case(first["rows"][0]["id"]),
            "its labels that pull": lambda: reviewer.pulls(first["rows"][0]["id"]),
            "the hub": lambda: reviewer.open_case(hub),
        }
        for what, ask in questions.items():
            started = time.perf_counter()
            ask()
            print(f"  {what:24} {time.perf_counter() - started:6.2f}")
        if browser is not None:
            measure_in_browser(url, browser, hub)


def measure_in_browser(url: str, browser_path: str, hub: str) -> None:
    from playwright.sync_api import Page, expect, sync_playwright

    def timed(what: str, page: Page, act: Any, check: Any) -> None:
        started = time.perf_counter()
        act(page)
        check(page)
        print(f"  {what:24} {time.perf_counter() - started:6.2f}")

    def row_is(page: Page, text: str) -> None:
        expect(page.locator("#queue-grid .ag-row[row-index='0'] a.node-link")).to_contain_text(text, timeout=30_000)

    print("seconds from a click to what it shows, in Chromium")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        timed("open the desk, cold", page, lambda p: p.goto(url), lambda p: row_is(p, "A0"))
        timed("open the desk again", page, lambda p: p.goto(url), lambda p: row_is(p, "A0"))
        page.wait_for_timeout(1500)
        timed("search", page, lambda p: p.fill("#search", "A0077777"), lambda p: row_is(p, "A0077777"))
        page.fill("#search", "")
        page.wait_for_timeout(1000)
        only_review = page.locator("#queue-grid .ag-row[row-index='0'] .pill-review")
        timed(
            "only review",
            page,
            lambda p: p.click("#only-review"),
            lambda p: expect(only_review).to_be_visible(timeout=30_000),
        )
        picture = page.locator("#picture-said")
        first = page.locator("#queue-grid .ag-row[row-index='0'] a.node-link")
        timed("open a case", page, lambda p: first.click(), lambda p: expect(picture).to_be_visible(timeout=30_000))
        page.click("#nav-model")
        timed(
            "back to the queue",
            page,
            lambda p: p.click("#nav-queue"),
            lambda p: expect(first).to_be_visible(timeout=30_000),
        )
        page.goto(f"{url}/case?id={urllib.parse.quote(hub)}")
        timed(
            "the hub",
            page,
            lambda p: p.reload(),
            lambda p: expect(picture).to_contain_text("neighbours:", timeout=30_000),
        )
        print(f"  the hub says: {picture.inner_text()}")
        browser.close()


def work(url: str, number: int, pool: list[str], until: float, think: float, kept: dict[str, Any]) -> None:
    """One reviewer's shift."""
    rng = random.Random(number)
    reviewer = Reviewer(url, f"reviewer {number}")
    kept["reviewers"].append(reviewer)
    own = [name for i, name in enumerate(pool) if i % 50 == number % 50]
    few = pool[:40]
    turn = 0
    while time.monotonic() < until:
        time.sleep(rng.uniform(0.5, 1.5) * think)
        turn += 1
        if turn % 5 == 1:
            reviewer.queue(100 * rng.randrange(20))
        name = rng.choice(few if number % 2 else own)
        if turn % 3 == 0:
            reviewer.open_case(name)
            reviewer.pulls(name)
        body = {"node": name, "decision": rng.choice(["rare", "normal", "unsure"]), "note": f"turn {turn}",
                "seen": reviewer.seen(name), "key": f"{number}-{turn}"}  # fmt: skip
        answers = [reviewer.post("decide", "/api/decide", body) for _ in range(2 if rng.random() < 0.05 else 1)]
        kept["codes"].update(code for code, _ in answers)
        if answers[0][0] == 200:
            row = answers[0][1]["decision"]["id"]
            kept["acknowledged"].append(row)
            if any(code == 200 and answer["decision"]["id"] != row for code, answer in answers):
                kept["doubled"].append(row)
            if rng.random() < 0.1:
                code, answer = reviewer.post("undo", "/api/undo", {"decision": row, "key": f"{number}-{turn}-undo"})
                kept["codes"][code] += 1
                if code == 200:
                    kept["acknowledged"].append(answer["decision"]["id"])


def measure_load(model: Path, db: str, label: str, args: argparse.Namespace) -> bool:
    with running_desk(model, "--db", db, "--token", TOKEN) as url:
        first = Reviewer(url, "foreman")
        pool = [row["id"] for start in range(0, 2000, 100) for row in first.queue(start)["rows"]]
        kept: dict[str, Any] = {"reviewers": [], "codes": Counter(), "acknowledged": [], "doubled": []}
        until = time.monotonic() + args.seconds
        threads = [
            threading.Thread(target=work, args=(url, number, pool, until, args.think, kept))
            for number in range(args.reviewers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    store = DecisionStore.open(db)
    rows = store.since()
    store.close()
    ids, acknowledged = [row.id for row in rows], kept["acknowledged"]
    chains: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        chains[row.node_id].append(row)
    broken = sum([row.supersedes for row in chain] != [0, *(row.id for row in chain[:-1])] for chain in chains.values())
    lost, extra = set(acknowledged) - set(ids), set(ids) - set(acknowledged)
    doubled = len(kept["doubled"]) + len(acknowledged) - len(set(acknowledged))
    print(f"\n{label}: {args.reviewers} reviewers for {args.seconds:g} s, a decision every {args.think:g} s each")
    print(f"  {len(rows):,} rows; answers {dict(sorted(kept['codes'].items()))} (409: someone else was faster)")
    print(f"  lost {len(lost)}, doubled {doubled}, not acknowledged {len(extra)}, broken histories {broken}")
    every: list[float] = []
    asked = ("queue", "reasons on screen", "case", "what is known of a case", "labels that pull", "decision of a case")
    for what in (*asked, "decide", "undo"):
        times = [t for reviewer in kept["reviewers"] for t in reviewer.times[what]]
        every += times
        show_times(what, times)
    show_times("all", every)
    return not (lost or doubled or extra or broken) and float(np.quantile(every, 0.95)) < 0.5


def show_times(what: str, times: list[float]) -> None:
    if times:
        p50, p95, p99 = (1000 * float(q) for q in np.quantile(times, [0.5, 0.95, 0.99]))
        print(
            f"  {what:24} {len(times):7,} requests; ms p50 {p50:6.0f}  p95 {p95:6.0f}  p99 {p99:6.0f}  max {1000 * max(times):6.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--hub", type=int, default=50_000, help="neighbours of the hub")
    parser.add_argument("--reviewers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--think", type=float, default=2.0, help="seconds between a reviewer's decisions, on average")
    parser.add_argument("--db", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--only", choices=["pages", "load"])
    parser.add_argument("--model", type=Path, help="keep the generated model here and use it again")
    args = parser.parse_args()
    passed = True
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="review-desk-")))
        model = args.model or folder / "model"
        if not (model / "model.json").exists():
            make_model(model, args.nodes, args.hub)
            (model / "hub.json").write_text(
                json.dumps(str(cr.RareGraph.load(next(model.glob("graph-*.npz"))).ids[HUB]))
            )
        if args.only != "load":
            browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
            measure_pages(model, browser)
        if args.only != "pages" and args.db != "postgresql":
            passed &= measure_load(model, f"sqlite:///{folder / 'load.sqlite'}", "SQLite", args)
        if args.only != "pages" and args.db != "sqlite":
            try:
                url = stack.enter_context(private_postgres())
                passed &= measure_load(model, url, "PostgreSQL", args)
            except NoPostgresError as error:
                print(f"\nPostgreSQL left out: {error}.")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
