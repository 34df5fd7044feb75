"""The desk on two tables as an analyst brings them: money per case, reasons, records, filters, monitoring, in a browser."""

from __future__ import annotations

import re
import shutil

import polars as pl
import pytest
from everybody import overflow, violations

from calirare.cli.main import app
from calirare.review.case.summary import pulling_labels

pytestmark = [pytest.mark.browser, pytest.mark.slow]
pytest.importorskip("axe_playwright_python.sync_playwright")
sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect


@pytest.fixture
def folder(tables, tmp_path):
    """An own copy of the tables and their model."""
    return shutil.copytree(tables, tmp_path / "bank")


@pytest.fixture
def server(serve, folder):
    return serve(folder / "model", folder / "nodes.csv", ("https://crm.example/{id}",), reviewer="ada")


def first_row(page):
    """The first row of the queue, once it is there."""
    expect(page.locator("#queue-grid [row-index='0'] a.node-link")).to_be_visible()
    return page.locator("#queue-grid .ag-center-cols-container [row-index='0']")


def names(server, **view):
    desk = server.desk
    return [str(desk.snapshot.ids[node]) for node in desk.queue.order(desk.view(view))]


def test_the_price_is_a_column_and_the_budget_goes_where_it_saves_most(server, open_page):
    page = open_page(server.url, (1600, 900))
    row = first_row(page)
    price, said = page.get_by_role("combobox", name="A missed rare case"), page.locator("#settings-said")
    price.fill("amount")
    price.press("Enter")
    expect(said).to_have_text("Set by you.")
    expect(page.locator("#rule-alert")).to_contain_text("Each case has its own")
    expect(page.locator("#cost-miss")).to_be_hidden()  # a column has no place on a slider
    page.get_by_role("spinbutton", name="Most reviews").fill("4")
    page.keyboard.press("Enter")
    expect(page.locator("#count-review")).to_have_text("4")
    expect(page.locator("#rule-review")).to_contain_text("from a saving of")
    dearest = names(server)
    expect(row.locator("a.node-link")).to_have_text(dearest[0])
    expect(page.locator("#queue-grid .ag-center-cols-container .pill-review")).to_have_count(4)
    view = server.desk.view({})
    saves = server.desk.queue.columns(server.desk.queue.order(view), view)["saves"]
    assert saves == sorted(saves, reverse=True)
    expect(row.locator("[col-id=saves]")).to_have_text(f"{saves[0]:.2f}")

    page.get_by_role("button", name="doubt", exact=True).click()
    closest = [name for name in server.desk.snapshot.ids[server.desk.snapshot.listed]]
    p = dict(zip(closest, server.desk.snapshot.scores.probability[server.desk.snapshot.listed], strict=True))
    expect(row.locator("a.node-link")).to_have_text(min(closest, key=lambda name: abs(p[name] - 0.5)))


def test_settings_outlive_the_desk_with_who_set_them(serve, server, folder, open_page):
    server.desk.set({"miss": "amount", "budget": 4, "columns": ["country"]}, reviewer="bob")
    server.close()
    again = serve(folder / "model", folder / "nodes.csv", reviewer="ada")
    page = open_page(again.url, (1600, 900))
    first_row(page)
    expect(page.get_by_role("combobox", name="A missed rare case")).to_have_value("amount")
    expect(page.get_by_role("spinbutton", name="Most reviews")).to_have_value("4")
    expect(page.locator(".ag-header-cell-text", has_text=re.compile("^country$"))).to_be_visible()
    expect(page.locator("#settings-said")).to_contain_text("Set by bob")


def test_a_filter_on_a_column_for_one_window_and_for_everybody(server, open_page):
    server.desk.set({"columns": ["country", "amount"]}, reviewer="ada")
    page = open_page(server.url, (1600, 900))
    first_row(page)
    page.locator(".ag-header-cell[col-id='record:country'] .ag-header-cell-filter-button").click()
    page.locator(".ag-filter input[type=text]").first.fill("NO")
    norway = {f"A{k:03d}" for k, one in enumerate(pl.read_csv(server.desk._table)["country"]) if one == "NO"}
    wanted = [name for name in names(server) if name in norway]
    expect(
        page.locator("#queue-grid [col-id='record:country'].ag-cell", has_text=re.compile("^(SE|DE)$"))
    ).to_have_count(0)
    expect(page.locator("#queue-grid [row-index='0'] a.node-link")).to_have_text(wanted[0])
    assert names(server) != wanted  # this window alone
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keep this filter for everybody").click()
    expect(page.locator("#filters-said")).to_have_text("Everybody's queue: country holds “NO”.")
    assert names(server) == wanted and server.desk.setting.by == "ada"
    other = open_page(server.url, (390, 844))
    expect(other.locator("#filters-said")).to_contain_text("country holds “NO”")
    expect(other.locator("#queue-grid [row-index='0'] a.node-link")).to_have_text(wanted[0])
    page.get_by_role("button", name="Drop it for everybody").click()
    expect(page.locator("#filters-said")).to_have_text("")
    expect(other.locator("#filters-said")).to_have_text("")
    assert len(names(server)) > len(wanted)


def test_the_case_tells_why_and_shows_the_record_as_the_table_has_it(server, folder, open_page):
    page = open_page(server.url, (1600, 900))
    row = first_row(page)
    reason = row.locator(".reason-cell")
    expect(reason).to_contain_text(re.compile("amount|value|country|opened|when|branch|neighbours"))  # our own columns
    expect(reason).not_to_contain_text("costs")
    name = names(server)[0]
    row.locator("a.node-link").click()
    expect(page.locator("#case-id")).to_have_text(name)
    facts = page.locator("#why .fact")
    expect(facts.first).to_be_visible()
    assert any("median" in words or "of nodes" in words for words in facts.all_inner_texts())

    cells = pl.read_csv(folder / "nodes.csv", infer_schema=False).filter(account=name).row(0, named=True)
    record = page.locator("#record")
    for column in ("amount", "country", "opened", "branch", "owner"):
        line = record.locator("tr", has=page.get_by_role("rowheader", name=re.compile(f"^{column}")))
        words = f"{float(cells[column]):,.2f}" if column == "amount" and cells[column] else cells[column]
        expect(line.locator("td")).to_have_text(words or "–")
    expect(record.locator("tr", has_text="owner")).to_contain_text("not read by the model")
    opened = page.locator(".attribute", has=page.locator(".name", has_text=re.compile("^opened$")))
    expect(opened.locator(".value")).to_have_text(cells["opened"])  # a date, not a number of days

    paid = pl.read_csv(folder / "edges.csv", infer_schema=False)
    edges = page.locator("#edges")
    expect(edges.locator("th")).to_have_text(["Way", "Node", "value", "when", "channel"])
    own = paid.filter((pl.col("payer") == name) | (pl.col("payee") == name)).sort("when", descending=True)
    expect(edges.locator("tbody tr").first).to_contain_text(own["when"][0].replace("T", " "))
    expect(edges.locator("tbody tr").first).to_contain_text(own["channel"][0])
    expect(page.locator("#neighbours tbody tr").first.locator("td").nth(1)).to_have_text(
        re.compile(r"^[<>]?\d\.\d{3,4}$")
    )
    expect(page.locator("#neighbours")).to_contain_text("labelled")
    assert (
        page.get_by_role("link", name=re.compile("crm.example")).get_attribute("href") == f"https://crm.example/{name}"
    )
    expect(page.locator(".pull").first).to_be_visible()
    queue = server.desk.queue
    puzzling = next(
        node
        for node in queue.snapshot.listed.tolist()
        if any(one.is_rare != (one.pull > 0) for one in pulling_labels(queue, node))
    )
    page.goto(f"{server.url}/case?id={queue.snapshot.ids[puzzling]}")
    expect(page.locator("#against-own-class")).to_contain_text("yet pulls")


def test_a_decided_case_shows_its_decision_everywhere_after_a_refit(server, open_page):
    page = open_page(server.url, (1600, 900))
    row = first_row(page)
    desk = server.desk
    name, old = names(server)[0], desk.snapshot.version
    desk.decide(name, "rare", note="", reviewer="bob", seen=0, action_key="a")
    desk.job.start("ada")
    page.click("#nav-model")
    expect(page.locator(".versions li", has_text="in use")).not_to_contain_text(old, timeout=120_000)
    expect(page.locator("#outcome-said")).to_contain_text("1 decision;")
    for width in (390, 1024, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        assert not violations(page) and overflow(page) <= 0
    page.click("#nav-queue")
    page.click("#status-decided")
    expect(row.locator("a.node-link")).to_have_text(name)
    expect(row.locator(".pill-rare")).to_be_visible()
    row.locator("a.node-link").click()
    expect(page.locator("#decision-now")).to_contain_text("by bob")
    neighbour = page.locator("#neighbours a.node-link").first
    expect(neighbour).to_be_visible()
    neighbour.click()
    expect(page.locator("#case-id")).not_to_have_text(name)
    seen = page.locator("#neighbours tr", has=page.get_by_role("link", name=name, exact=True))
    expect(seen).to_contain_text("decided rare")


def test_monitoring_tells_of_runs_and_decisions(server, folder, open_page):
    page = open_page(server.url + "/monitoring")
    signals = page.locator("#signals")
    expect(signals.locator("tr")).to_have_count(6)
    expect(page.get_by_text("No run has been scored with this model yet.")).to_be_visible()
    score = ["score", str(folder / "model"), str(folder / "nodes.csv"), str(folder / "edges.csv"), "--quiet"]
    app([*score, "--out", str(folder / "scores.csv")], standalone_mode=False)
    for place, name in enumerate(names(server)[:12]):
        server.desk.decide(name, "normal", note="", reviewer="ada", seen=0, action_key=str(place))
    expect(page.locator("#observed-said")).to_be_visible()  # a decision turns the page over by itself
    expect(page.locator("#decisions-graph .main-svg").first).to_be_visible()
    page.reload()
    expect(signals.locator("tr", has_text="input columns")).to_contain_text("quiet")
    expect(signals.locator("tr", has_text="calibration, this window")).not_to_contain_text("Fewer than")
    expect(page.locator("#runs-graph .main-svg").first).to_be_visible()
    expect(page).to_have_title("Monitoring · calirare review desk")
