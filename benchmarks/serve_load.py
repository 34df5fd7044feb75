"""`calirare serve` under load: requests a second for known nodes, latency of new ones, and kill -9 in the middle.

A model (`auto`) is fitted on 5,000 accounts and serves a network of `--nodes`. The load comes from wrk (Debian's package
`wrk`) over loopback, on the same machine: one node by id over and over, ids drawn at random; then questions with one new
account and ten payments each, from `--clients` clients that ask again as soon as they are answered. The model is loaded again
under load: no request may fail, and how long they took from the moment it was asked for stands beside the calm figures. Answers
are held against a full scoring. At last the service is killed under load, started again, and must answer as before, with every
reload that it acknowledged in the monitored series.

    python benchmarks/serve_load.py --nodes 100000 --seconds 10
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from new_nodes import fit, make_tables

import calirare as cr
from calirare.evaluation.monitoring.series import Series
from calirare.review.store.database import FILE, Database, database_url
from calirare.scoring.table import read_for, score_table

KNOWN = """
math.randomseed(1)
request = function() return wrk.format("GET", "/nodes/" .. math.random(0, {last})) end
"""
NEW = """
local bodies = {{}}
for line in io.lines("{file}") do bodies[#bodies + 1] = line end
local at = 0
wrk.headers["Content-Type"] = "application/json"
request = function() at = at % #bodies + 1; return wrk.format("POST", "/score", nil, bodies[at]) end
"""


def start(model: Path, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """The service in a process of its own, and its address."""
    words = [sys.executable, "-m", "calirare", "serve", str(model), str(folder / "nodes.parquet")]
    words += [str(folder / "edges.parquet"), "--port", "0", "--rate", "0", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    said = ""
    while "}" not in said:
        line = process.stdout.readline()
        if not line:
            raise SystemExit("the service did not start")
        said += line
    return process, str(json.loads(said)["url"])


def ask(url: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {} if body is None else {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers), timeout=300) as answer:
        return json.loads(answer.read())


def load(url: str, script: Path, clients: int, seconds: int) -> dict[str, float]:
    """Requests a second, failures, and the latencies in milliseconds, as wrk prints them."""
    with driven(url, script, clients, seconds) as wrk:
        return said_by(wrk)


def driven(url: str, script: Path, clients: int, seconds: int) -> subprocess.Popen[str]:
    """wrk, at work."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", str(script), url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def said_by(wrk: subprocess.Popen[str]) -> dict[str, float]:
    said = wrk.communicate()[0]
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    found = {
        f"p{share}": float(value) * units[unit]
        for share, value, unit in re.findall(r"(50|90|99)%\s+([\d.]+)(us|ms|s)", said)
    }
    slowest = re.search(r"Latency\s+\S+\s+\S+\s+([\d.]+)(us|ms|s)", said)
    rate, count = re.search(r"Requests/sec:\s+([\d.]+)", said), re.search(r"(\d+) requests in", said)
    assert rate is not None and count is not None and slowest is not None, said
    found["most"] = float(slowest[1]) * units[slowest[2]]
    return {"per second": float(rate[1]), "count": float(count[1]), "failed": float(failures(said)), **found}


def questions(num_nodes: int, count: int) -> list[dict[str, Any]]:
    """One new account with ten payments each."""
    found = []
    for seed in range(count):
        nodes, edges = make_tables(np.array([num_nodes]), num_nodes, seed=100 + seed)
        found.append({"nodes": nodes.drop("rare").to_dicts(), "edges": edges.to_dicts()})
    return found


def compare(url: str, model: Path, tables: Any, asked: list[dict[str, Any]]) -> float:
    """Largest difference of any number to a full scoring, over known nodes and some questions."""
    classifier = cr.load(model)
    want = score_table(classifier, read_for(classifier, *tables))
    worst = 0.0
    for row in np.linspace(0, len(want["id"]) - 1, 50).astype(int):
        found = ask(url, f"/nodes/{want['id'][row]}")
        worst = max(worst, *(abs(found[name] - float(want[name][row])) for name in ("probability", "lower", "upper")))
    for one in asked[:2]:
        both = [pl.concat([table.drop("rare", strict=False), pl.DataFrame(one[name]).cast(dict(table.drop("rare", strict=False).schema))]) for name, table in zip(("nodes", "edges"), tables, strict=True)]  # fmt: skip
        full = score_table(classifier, read_for(classifier, *both))
        found = ask(url, "/score", one)["scores"][0]
        worst = max(worst, *(abs(found[name] - float(full[name][-1])) for name in ("probability", "lower", "upper")))
    return worst


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """What the service has worked so far; on a busy machine it tells more than the clock."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(what: str, process: subprocess.Popen[str], url: str, script: Path, clients: int, seconds: int) -> None:
    before = cpu_seconds(process)
    found = load(url, script, clients, seconds)
    show(what, found, cpu_seconds(process) - before)


def show(what: str, found: dict[str, float], worked: float) -> None:
    each = 1e3 * worked / max(1.0, found["count"])
    cells = f"{found['per second']:9.0f} {found['p50']:8.2f} {found['p99']:8.2f} {found['most']:8.1f} {each:8.2f}"
    print(f"{what:<44} {cells} {found['failed']:7.0f}", flush=True)


def touched(model: Path, folder: Path) -> dict[Path, int]:
    """When each file was written, but for the series."""
    files = [*model.rglob("*"), *folder.glob("*.parquet")]
    return {path: path.stat().st_mtime_ns for path in sorted(files) if path.is_file() and FILE not in path.name}


def runs(model: Path) -> int:
    """Loads in the monitored series."""
    database = Database(database_url(model))
    try:
        return len(Series(database).read("run"))
    finally:
        database.close()


def reload_under_load(what: str, process: subprocess.Popen[str], url: str, script: Path, clients: int) -> None:
    """Load the model again while clients ask: what failed, and how they fared from the moment it was asked for."""
    before = cpu_seconds(process)
    with driven(url, script, clients, 600) as wrk:
        began = time.perf_counter()
        ask(url, "/reload", {})
        took = time.perf_counter() - began
        wrk.send_signal(signal.SIGINT)  # then it prints what it has
        show(f"{what}, {clients} clients, a reload of {took:.1f} s", said_by(wrk), cpu_seconds(process) - before)


def failures(said: str) -> int:
    """Answers that were no success and connections that broke, as wrk prints them."""
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    return (int(failed[1]) if failed else 0) + (sum(int(count) for count in sockets.groups()) if sockets else 0)


def kill_under_load(
    process: subprocess.Popen[str], url: str, model: Path, folder: Path, script: Path, asked: Any
) -> None:
    """kill -9 in the middle of the load, start again, and compare."""
    ids = [f"/nodes/{k}" for k in range(0, 1000, 10)]
    before = [ask(url, path) for path in ids] + [ask(url, "/score", one) for one in asked[:20]]
    held, loads = touched(model, folder), runs(model)
    wrk = subprocess.Popen(["wrk", "-t1", "-c8", "-d4s", "-s", str(script), url], stdout=subprocess.DEVNULL)
    time.sleep(1.5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wrk.wait()
    kept = runs(model) == loads
    again, url = start(model, folder)
    after = [ask(url, path) for path in ids] + [ask(url, "/score", one) for one in asked[:20]]
    equal = sum(a == b for a, b in zip(before, after, strict=True))
    print(
        f"killed under load and started again: {equal} of {len(before)} answers equal, "
        f"files {'untouched' if held == touched(model, folder) else 'CHANGED'}, "
        f"{loads} acknowledged loads {'all there' if kept else 'LOST'}"
    )
    again.terminate()
    print(f"stopped in order: exit code {again.wait()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=10, help="of each load")
    parser.add_argument("--clients", default="1,4", help="that ask about new accounts at a time")
    parser.add_argument("--load-only", action="store_true", help="without the comparison and kill -9")
    parser.add_argument("--model", help="folder that keeps the fitted model")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk makes the load; install it: apt-get install wrk")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        tables = make_tables(np.arange(arguments.nodes), arguments.nodes, seed=1)
        for name, table in zip(("nodes", "edges"), tables, strict=True):
            table.drop("rare", strict=False).write_parquet(folder / f"{name}.parquet")
        fit(arguments.model).save(folder / "model")
        asked = questions(arguments.nodes, 200)
        (folder / "bodies.jsonl").write_text("\n".join(json.dumps(one) for one in asked))
        (folder / "known.lua").write_text(KNOWN.format(last=arguments.nodes - 1))
        (folder / "new.lua").write_text(NEW.format(file=folder / "bodies.jsonl"))
        began = time.perf_counter()
        process, url = start(folder / "model", folder)
        print(
            f"{arguments.nodes:,} nodes, {arguments.nodes * 10:,} edges; ready after {time.perf_counter() - began:.1f} s"
        )
        print(f"{'':<44} {'a second':>9} {'p50 ms':>8} {'p99 ms':>8} {'most ms':>8} {'CPU ms':>8} {'failed':>7}")
        known, new = folder / "known.lua", folder / "new.lua"
        for clients in (1, 8, 16):
            measure(f"known nodes, {clients} clients", process, url, known, clients, arguments.seconds)
        for clients in (int(part) for part in arguments.clients.split(",")):
            measure(f"a new node with ten edges, {clients} clients", process, url, new, clients, arguments.seconds)
        if not arguments.load_only:
            judge(process, url, folder, tables, asked)
        process.kill()
        process.wait()


def judge(process: subprocess.Popen[str], url: str, folder: Path, tables: Any, asked: list[dict[str, Any]]) -> None:
    """Whether the answers are right, and stay so after kill -9."""
    for what, script, clients in (("known nodes", "known", 8), ("a new node", "new", 1)):
        reload_under_load(what, process, url, folder / f"{script}.lua", clients)
    print(f"largest difference to a full scoring: {compare(url, folder / 'model', tables, asked):.1e}", flush=True)
    kill_under_load(process, url, folder / "model", folder, folder / "known.lua", asked)


if __name__ == "__main__":
    main()
