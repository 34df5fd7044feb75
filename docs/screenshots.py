"""Photograph the report and the review desk for README and docs, by the commands of `docs/start.md`.

A simulated reviewer, ada, decides a dozen cases; she knows the truth, which only a generator can tell her. Needs Chromium.

python docs/screenshots.py                 # docs/images/report.png, review-queue.png, review-case.png, review-model.png
python docs/screenshots.py --out pictures  # somewhere else
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

import calirare as cr
from calirare.cli.main import app
from calirare.data.tables.files import write_tables
from calirare.review.app import DeskServer, open_desk
from calirare.scoring.service.access import Access

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NOTES = {
    "rare": "Called the customer, who does not know these payments.",
    "normal": "Called the customer: the cash was for a move abroad.",
}
UNSURE = 5  # the place of the case that ada does not decide either way


def make_model(folder: Path, nodes: int, detector: str) -> dict[str, str]:
    """Tables, model and report by the commands of the first page; gives the truth of every account."""
    graph = cr.make_transactions(nodes, labelled_share=0.2, seed=0)
    tables = [str(path) for path in write_tables(graph, folder)]
    model, page = str(folder / "model"), str(folder / "report.html")
    fit = ["fit", *tables, "--label", "is_fraud", "--rare", "yes", "--detector", detector, "--out", model]
    for words in (fit, ["report", model, "--budget", str(nodes // 25), "--out", page]):
        app(words, standalone_mode=False)
    return {str(name): "rare" if y == 1 else "normal" for name, y in zip(graph.ids, graph.original_y, strict=True)}


def decide(page: Page, truth: dict[str, str], place: int, *, with_note: bool) -> None:
    """Decide the case on screen by keyboard, as its truth says."""
    expect(page.locator("#case-place")).to_contain_text(f"{place} of")
    expect(page.locator("#decision-now")).to_contain_text("Not decided yet")
    expect(page.locator("#decision-card.waiting")).to_have_count(0)
    answer = "unsure" if place == UNSURE else truth[page.inner_text("#case-id")]
    if with_note:
        page.fill("#note", NOTES[answer])
        page.locator("#note").blur()
    page.keyboard.press(answer[0])
    expect(page.locator(f"#decision-now .pill-{answer}")).to_be_visible()


def photograph(page: Page, out: Path, name: str) -> None:
    """Wait for pictures to come to rest and messages to go, then keep the page."""
    expect(page.locator("#toasts > *")).to_have_count(0)
    page.mouse.move(0, 0)
    page.wait_for_timeout(800)
    page.screenshot(path=out / f"{name}.png")


def visit_desk(page: Page, url: str, truth: dict[str, str], out: Path, cases: int) -> None:
    """Decisions on the cases to review, the queue that shows them, and the refit that learns from them."""
    page.goto(url)
    page.click("#only-review")
    expect(page.locator("#queue-grid .pill-alert")).to_have_count(0)
    page.locator("#queue-grid a.node-link").first.click()
    for place in range(1, cases + 1):
        decide(page, truth, place, with_note=place == 2)
        if place == 2:
            page.wait_for_function("window.cy && window.cy.nodes().length > 1")
            photograph(page, out, "review-case")
        page.keyboard.press("j")
    page.click("#nav-queue")
    expect(page.locator("#queue-grid .pill-unsure")).to_be_visible()
    photograph(page, out, "review-queue")
    page.click("#nav-model")
    page.click("#refit")
    expect(page.locator("#refit-done")).to_be_visible(timeout=300_000)
    expect(page.locator("#outcome-said")).to_contain_text("decisions")
    photograph(page, out, "review-model")


def visit_report(page: Page, path: Path, out: Path) -> None:
    page.goto(path.as_uri())
    page.wait_for_selector("#plot-costs .main-svg", state="attached")
    page.screenshot(path=out / "report.png")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Photograph the report and the review desk.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--detector", default="auto")
    parser.add_argument("--cases", type=int, default=12, help="decisions before the refit")
    given = parser.parse_args(arguments)
    browser_path = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser_path is None:
        sys.exit("The pictures need Chromium; none was found.")
    expect.set_options(timeout=60_000)
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, sync_playwright() as play:
        folder = Path(work)
        truth = make_model(folder, given.nodes, given.detector)
        # Chromium's sandbox does not start for root, and the pages are our own
        browser: Any = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        visit_report(browser.new_page(viewport={"width": 1100, "height": 1000}), folder / "report.html", given.out)
        server = DeskServer(open_desk(folder / "model", table=folder / "nodes.parquet"), Access(port=0, reviewer="ada"))
        server.start()
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            visit_desk(page, server.url, truth, given.out, given.cases)
        finally:
            server.close()
            browser.close()
    print(*sorted(str(path) for path in given.out.glob("re[pv]*.png")), sep="\n")


if __name__ == "__main__":
    main()
