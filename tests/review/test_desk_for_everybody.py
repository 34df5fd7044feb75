"""The desk for every reviewer: keyboard alone, any width, light and dark, without a violation that axe-core knows of."""

from __future__ import annotations

import json
import re

import pytest
from everybody import overflow, violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]
sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python.sync_playwright")
expect = sync_api.expect

TOKEN = "a token that is long enough"
WIDTHS = ((390, 844), (1024, 768), (1440, 900), (2560, 1300))


def open_queue(page):
    expect(page.locator("#queue-grid a.node-link").first).to_be_visible()
    expect(page.locator("#rule-alert")).to_be_attached()


def first_case(page, server):
    open_queue(page)
    name = page.locator("#queue-grid a.node-link").first.inner_text()
    page.goto(server.url + "/case?id=" + name)
    ready(page)
    return name


def ready(page):
    expect(page.locator("#neighbours")).to_be_visible()
    expect(page.locator("#decision-now p").first).to_be_visible()
    expect(page.locator("#decision-card:not(.waiting)")).to_be_visible()
    expect(page.locator(".pull").first).to_be_attached()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", WIDTHS, ids=str)
def test_every_page_at_every_width(serve, open_page, size, scheme):
    server = serve(reviewer="ada")
    page = open_page(server.url, size, scheme)
    open_queue(page)
    found = {}
    found["queue"] = (violations(page), overflow(page))
    first_case(page, server)
    found["case"] = (violations(page), overflow(page))
    page.goto(server.url + "/reliability")
    expect(page.locator(".metric").first).to_be_visible(timeout=60_000)
    found["reliability"] = (violations(page), overflow(page))
    page.goto(server.url + "/monitoring")
    expect(page.locator("#signals tr")).to_have_count(6)
    found["monitoring"] = (violations(page), overflow(page))
    page.goto(server.url + "/model")
    expect(page.locator("#refit-about .counts")).to_be_visible()
    found["model"] = (violations(page), overflow(page))
    bad = {name: value for name, value in found.items() if value[0] or value[1] > 0}
    assert not bad, json.dumps(bad, indent=1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_login_page(serve, open_page, scheme):
    server = serve(token=TOKEN)
    page = open_page(server.url, (390, 844), scheme)
    page.fill("#reviewer", "ada")
    page.fill("#token", "wrong")
    page.click("button[type=submit]")
    expect(page.locator(".login-message")).to_be_visible()
    for size in WIDTHS:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        assert not violations(page) and overflow(page) <= 0


def test_the_list_of_keys_closes_every_way(serve, open_page):
    page = open_page(serve().url)
    open_queue(page)
    panel, toggle = page.locator("#keys"), page.locator("#keys-toggle")
    for close in ("?", "Escape", "button", "outside"):
        toggle.click()
        expect(panel).to_be_visible()
        expect(toggle).to_have_attribute("aria-expanded", "true")
        if close == "button":
            page.click("#keys-close")
        elif close == "outside":
            page.mouse.click(20, 400)
        else:
            page.keyboard.press(close)
        expect(panel).to_be_hidden()
        expect(toggle).to_have_attribute("aria-expanded", "false")


def test_names_states_and_titles(serve, open_page):
    server = serve(links=("https://crm.example/customer/{id}",))
    page = open_page(server.url)
    open_queue(page)
    expect(page).to_have_title("Queue · calirare review desk")
    chip = page.get_by_role("button", name=re.compile("^review")).first
    expect(chip).to_have_attribute("aria-pressed", "false")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    for words in ("A missed rare case", "A false alarm", "A review"):
        expect(page.get_by_role("slider", name=f"{words}, slider")).to_be_attached()
    expect(page.get_by_role("searchbox", name="Search by node id")).to_be_visible()
    name = first_case(page, server)
    expect(page).to_have_title(f"{name} · calirare review desk")
    link = page.get_by_role("link", name=re.compile("crm.example"))
    assert link.get_attribute("href") == f"https://crm.example/customer/{name}"
    page.click("#nav-model")
    expect(page).to_have_title("Model · calirare review desk")


def test_typed_prices_hold_for_everybody(serve, open_page):
    server = serve(token=TOKEN)
    pages = []
    for who in ("ada", "bob"):
        page = open_page(server.url)
        page.fill("#reviewer", who)
        page.fill("#token", TOKEN)
        page.click("button[type=submit]")
        open_queue(page)
        pages.append(page)
    ada, bob = pages
    rule = bob.locator("#rule-review").inner_text()
    field = ada.get_by_role("combobox", name="A missed rare case")
    field.fill("137.5")
    field.press("Enter")
    expect(ada.locator("#settings-said")).to_contain_text("Set by you")
    expect(bob.get_by_role("combobox", name="A missed rare case")).to_have_value("137.5")
    expect(bob.locator("#settings-said")).to_contain_text("Set by ada")
    expect(bob.locator("#rule-review")).not_to_have_text(rule)
    field.fill("no such column")
    field.press("Enter")
    expect(ada.locator("#toasts")).to_contain_text("cost_miss must be")
    expect(field).to_have_value("137.5")


def test_columns_ticks_and_undo(serve, open_page):
    server = serve(reviewer="ada")
    page = open_page(server.url, (1600, 900))
    open_queue(page)
    column = next(iter(server.desk.station.records.columns))
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("checkbox", name=column).check()
    expect(page.locator(".ag-header-cell-text", has_text=re.compile(f"^{re.escape(column)}$"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(f'.ag-row[row-index="0"] [col-id="record:{column}"]')).to_have_text(re.compile("."))
    expect(page.locator("#count-review")).to_have_text(re.compile(r"\d"))
    before = page.inner_text("#count-review")
    boxes = page.locator("#queue-grid .ag-selection-checkbox input")
    for place in range(3):
        boxes.nth(place).check()
    expect(page.locator("#bulk-count")).to_have_text("3 cases ticked")
    assert not violations(page)
    page.click("#bulk-normal")
    expect(page.locator("#queue-grid .pill-normal")).to_have_count(3)
    expect(page.locator("#count-review")).not_to_have_text(before)
    names = [row.node_id for row in server.desk.store.since()]
    assert len(names) == 3
    page.keyboard.press("z")
    expect(page.locator("#queue-grid .pill-normal")).to_have_count(0)
    expect(page.locator("#count-review")).to_have_text(before)
    for place in range(3):
        boxes.nth(place).check()
    page.get_by_role("combobox", name="Give to").fill("bob")
    page.get_by_role("button", name="Give", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Given to bob: 3 cases.")
    assert {server.desk.team.assigned_to(name) for name in names} == {"bob"}


def test_blind_mode_and_the_team(serve, open_page):
    server = serve(reviewer="ada")
    server.desk.set({"blind": True}, reviewer="ada")
    page = open_page(server.url)
    expect(page.locator("#queue-grid a.node-link").first).to_be_visible()
    assert page.locator("#queue-grid .probability-cell").count() == 0
    name = page.locator("#queue-grid a.node-link").first.inner_text()
    page.goto(server.url + "/case?id=" + name)
    expect(page.locator("#blind-said")).to_be_visible()
    expect(page.locator("#decision-card:not(.waiting)")).to_be_visible()
    expect(page.locator("#neighbours")).to_be_visible()
    assert page.locator("#case-p").count() == 0 and page.locator(".pull").count() == 0
    assert not violations(page)
    page.keyboard.press("n")
    expect(page.locator("#case-p")).to_be_visible()
    page.click("#take")
    expect(page.locator("#assigned-said")).to_have_text("Your case.")
    page.keyboard.press("2")
    expect(page.locator("#second-said")).to_contain_text("You want someone else to look")
    page.goto(server.url)
    page.click("#status-second")
    expect(page.locator("#queue-grid a.node-link")).to_have_text([name])
    page.click("#status-all")
    page.click("#mine")
    expect(page.locator("#queue-grid a.node-link")).to_have_text([name])


def test_a_day_without_a_mouse(serve, open_page):
    """Tab to the queue, open a case with Enter, decide, note, go on, and come back."""
    server = serve(reviewer="ada")
    page = open_page(server.url)
    open_queue(page)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("A00000")
    page.keyboard.press("Escape")
    expect(page.locator("#queue-grid a.node-link", has_text=re.compile("^(?!A00000)"))).to_have_count(0)
    expect(page.locator("#queue-grid a.node-link").first).to_be_visible()  # not merely empty before the answer comes
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.ag-header-cell, .ag-cell') !== null"):
            break
    for _ in range(4):
        page.keyboard.press("ArrowDown")
        if page.evaluate("document.activeElement.classList.contains('ag-cell')"):
            break
    page.keyboard.press("Enter")
    ready(page)
    page.keyboard.press("m")
    page.keyboard.type("seen")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    expect(page.locator("#decision-now .pill-unsure")).to_be_visible()
    page.keyboard.press("q")
    expect(page.locator("#queue-grid a.node-link").first).to_be_visible()
    assert [row.note for row in server.desk.store.since()] == ["seen"]
