"""The report at every width, light and dark, without a violation that axe-core knows of, and sorted by the keyboard."""

from __future__ import annotations

import contextlib

import pytest

from calirare.report import write_report

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LEFT_OUT = ".js-plotly-plot"  # Plotly's own markup


@pytest.fixture(scope="module")
def path(clf, graph, tmp_path_factory):
    return write_report(clf, graph, tmp_path_factory.mktemp("report") / "report.html", budget=20, num_resamples=10)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width(browser, path, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#plot-costs .main-svg")
    for element in page.locator("summary").all():
        element.click()
    bad = {}
    for width in (390, 1024, 1440, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        with contextlib.suppress(Exception):  # figures take their width a moment later; what is too wide is said below
            page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth", timeout=5_000)
        found = axe.Axe().run(page, context={"exclude": [[LEFT_OUT]]}, options=options).response["violations"]
        rules = [(rule["id"], [node["target"] for node in rule["nodes"][:3]]) for rule in found]
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if rules or wider > 0:
            bad[width] = (rules, wider)
    context.close()
    assert not bad


def test_the_queue_is_sorted_by_the_keyboard(browser, path):
    page = browser.new_page()
    page.goto(path.as_uri())
    head = page.locator("#cases th", has_text="P(").first
    head.focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    values = [float(text) for text in page.locator("#cases tbody td:nth-child(3)").all_text_contents()]
    assert values == sorted(values, reverse=True)
    page.close()
