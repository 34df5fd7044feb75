"""The report at every width, light and dark, without a violation that axe-core knows of, and sorted by the keyboard."""

from __future__ import annotations

import pytest
from everybody import overflow, violations

from calirare.report import write_report

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LOOKED_THROUGH = (390, 1440)
"""Widths of a phone and of a desk: between and beyond them the page has the same parts, and axe-core takes seconds each time."""


@pytest.fixture(scope="module")
def path(clf, graph, tmp_path_factory):
    return write_report(clf, graph, tmp_path_factory.mktemp("report") / "report.html", budget=20, num_resamples=10)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width(browser, path, scheme):
    pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#plot-costs .main-svg")
    for element in page.locator("summary").all():
        element.click()
    bad = {}
    for width in (390, 1024, 1440, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        found = (violations(page) if width in LOOKED_THROUGH else [], overflow(page))
        if found[0] or found[1] > 0:
            bad[width] = found
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


def test_short_ids_stay_in_one_line_on_a_phone_beside_long_labels(browser, path):
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(path.as_uri())
    lines = page.eval_on_selector_all(
        "#again tbody tr",
        """rows => {
            for (const row of rows) { row.cells[0].textContent = "A0002928"; row.cells[1].textContent = "no (all papers in order)"; }
            return rows.map(row => {
                const text = document.createRange(); text.selectNodeContents(row.cells[0]); return text.getClientRects().length;
            });
        }""",
    )
    assert lines and set(lines) == {1} and overflow(page) <= 0
    page.close()
