"""The page in Chromium, offline."""

from __future__ import annotations

import pytest

from calirare.report import write_report

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def opened(clf, graph, browser, tmp_path_factory):
    """(page, complaints, addresses asked for)."""
    path = write_report(clf, graph, tmp_path_factory.mktemp("report") / "report.html", budget=20, num_resamples=10)
    assert path.stat().st_size < 8e6
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints, asked = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.goto(path.as_uri())
    page.wait_for_selector("#plot-costs .main-svg")
    yield page, complaints, asked
    page.close()


def test_figures_are_drawn_and_nothing_is_fetched(opened):
    page, complaints, asked = opened
    assert page.locator(".plot .plot-container").count() == 3
    assert page.locator("#plot-reliability .errorbar").count() > 4
    assert not complaints
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []


def test_scripts_in_ids_do_not_run(opened):
    page, _, _ = opened
    assert page.evaluate("window.hacked") is None
    assert page.locator("#cases td.id").first.text_content().startswith("<script>")


def test_the_queue_sorts_and_filters(opened):
    page, _, _ = opened
    column = "#cases tbody tr:not([hidden]) td:nth-child(3)"
    page.locator("#cases th", has_text="P(").click()
    page.locator("#cases th", has_text="P(").click()
    values = [float(text) for text in page.locator(column).all_text_contents()]
    assert values == sorted(values)
    rows = page.locator("#cases tbody tr:not([hidden])")
    wanted, many = rows.first.locator("td").nth(1).text_content(), rows.count()
    page.locator("#filter").fill(wanted)
    assert many > 1 and page.locator("#cases tbody tr:not([hidden]) td:nth-child(2)").all_text_contents() == [wanted]
    page.locator("#filter").fill("")


def test_it_prints_within_the_page(opened, tmp_path):
    page, _, _ = opened
    page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    assert (tmp_path / "report.pdf").stat().st_size > 20_000
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#plot-reliability .main-svg").first.bounding_box()["width"] <= 690
    assert not page.locator("nav").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
