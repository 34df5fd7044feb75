"""The desk as a reviewer meets it, in a real browser."""

from __future__ import annotations

import re

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

SCRIPT_ID = "<script>window.hacked=1</script>"
TOKEN = "a token that is long enough"


def rows(page):
    return page.locator("#queue-grid .ag-center-cols-container .ag-row")


def open_queue(page):
    expect(page.locator("#queue-grid a.node-link").first).to_be_visible()
    expect(page.locator("#rule-alert")).to_be_visible()


def decide(page, key, word):
    """Decide by keyboard, once the case is on screen."""
    expect(page.locator("#decision-card:not(.waiting)")).to_be_visible()
    page.keyboard.press(key)
    expect(page.locator(f"#decision-now .pill-{word}")).to_be_visible()


def keep_from_polling(route):
    if "poll.n_intervals" in (route.request.post_data or ""):
        route.fulfill(status=204)
    else:
        route.continue_()


def test_a_reviewer_s_day(serve, open_page):
    server = serve(reviewer="ada")
    page = open_page(server.url)
    open_queue(page)
    desk = server.desk

    # Filter
    page.click("#only-review")
    expect(page.locator("#queue-grid .pill-alert")).to_have_count(0)
    expect(page.locator("#queue-grid .pill-review").first).to_be_visible()
    page.fill("#search", "A00000")
    expect(page.locator("#queue-grid a.node-link", has_text=re.compile("^(?!A00000)"))).to_have_count(0)
    first = page.locator("#queue-grid [row-index='0'] a.node-link")
    expect(first).to_have_text(re.compile("^A00000"))
    wanted = first.inner_text()

    # Open a case
    first.click()
    expect(page.locator("#case-id")).to_have_text(wanted)
    expect(page.locator("#case-place")).to_contain_text("1 of")
    expect(page.locator(".attribute").first).to_be_visible()
    expect(page.locator(".pull").first).to_be_visible()
    expect(page.locator("#picture-said")).to_contain_text("neighbour")

    # Walk to a neighbour by a click in the picture, and back
    page.wait_for_function("window.cy && window.cy.nodes().length > 1")
    box = page.locator("#picture").bounding_box()
    place = page.evaluate(
        "(() => { const node = window.cy.$id('1'); return {...node.renderedPosition(), name: node.data('node')}; })()"
    )
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    expect(page.locator("#case-id")).to_have_text(place["name"])
    page.go_back()
    expect(page.locator("#case-id")).to_have_text(wanted)

    # Next and previous by keyboard
    page.keyboard.press("j")
    expect(page.locator("#case-place")).to_contain_text("2 of")
    page.keyboard.press("k")
    expect(page.locator("#case-id")).to_have_text(wanted)
    expect(page.locator("#decision-card.waiting")).to_have_count(0)

    # Decide by keyboard, with a note; keys inside the note are letters
    page.keyboard.press("m")
    page.keyboard.type("run round")
    page.keyboard.press("Escape")
    decide(page, "r", "rare")
    expect(page.locator("#history li")).to_have_count(1)
    expect(page.locator("#history")).to_contain_text("run round")
    assert [row.decision for row in desk.store.history(wanted)] == ["rare"]

    # Undo
    page.keyboard.press("z")
    expect(page.locator("#decision-now")).to_contain_text("Not decided yet")
    assert [row.decision for row in desk.store.history(wanted)] == ["rare", "open"]

    # Decide by mouse, reload and find it
    page.click("#decide-normal")
    expect(page.locator("#decision-now .pill-normal")).to_be_visible()
    page.reload()
    expect(page.locator("#case-id")).to_have_text(wanted)
    expect(page.locator("#decision-now .pill-normal")).to_be_visible()
    expect(page.locator("#progress-words")).to_contain_text(re.compile(r"^1 of \d+ "))
    page.keyboard.press("q")
    page.click("#status-decided")
    expect(rows(page)).to_have_count(1)
    expect(rows(page).locator(".pill-normal")).to_be_visible()
    page.click("#status-all")
    page.fill("#search", "")


def test_costs_move_the_thresholds_live_and_the_other_pages_open(serve, open_page):
    server = serve()
    page = open_page(server.url)
    open_queue(page)
    before, rule = page.inner_text("#count-review"), page.inner_text("#rule-review")
    page.get_by_role("slider", name="A review, slider").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")  # as fast as they come: what the desk answers must not turn it back
    expect(page.get_by_role("combobox", name="A review", exact=True)).to_have_value("4")
    expect(page.locator("#settings-said")).to_contain_text("Set by you")
    expect(page.locator("#rule-review")).not_to_have_text(rule)
    expect(page.locator("#count-review")).not_to_have_text(before)
    page.click("#only-review")
    expect(page.locator("#queue-grid .pill-clear")).to_have_count(0)

    # The list of keys
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_hidden()

    # The reliability diagrams
    page.click("#nav-reliability")
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    expect(page.locator("#quality-said")).to_contain_text("without its label")
    expect(page.locator(".metric")).to_have_count(4)


def test_refit_and_see_the_changed_queue(serve, open_page):
    server = serve(reviewer="ada")
    page = open_page(server.url)
    open_queue(page)
    rows = ", ".join(f"#queue-grid .ag-center-cols-container [row-index='{k}'] .probability-cell" for k in range(3))
    first = page.locator(rows)
    said = first.all_inner_texts()
    old_version = server.desk.snapshot.version
    page.locator("#queue-grid a.node-link").first.click()
    for place in range(1, 7):
        expect(page.locator("#case-place")).to_contain_text(f"{place} of")
        expect(page.locator("#decision-now")).to_contain_text("Not decided yet")
        expect(page.locator("#decision-card.waiting")).to_have_count(0)
        decide(page, "n", "normal")
        page.keyboard.press("j")
    page.click("#nav-model")
    expect(page.locator("#refit-about .counts")).to_contain_text("6")
    page.evaluate("dash_clientside.set_props('poll', {interval: 1e6})")  # the header may not wait for its clock
    words = page.locator("#progress-words").inner_text()
    say_nothing = "dash_clientside.set_props('progress', {'data-painted': '[]'})"  # both may want as many reviews
    page.evaluate(say_nothing)
    expect(page.locator("#progress-words")).to_have_count(0)
    page.click("#refit")
    expect(page.locator("#refit-done")).to_be_visible(timeout=120_000)
    expect(page.locator("#progress-words")).to_have_count(1)
    done = server.desk.queue.progress(server.desk.view({}))
    expect(page.locator("#progress-words")).to_have_text(f"{done.done:,} of {done.total:,} reviews done")
    expect(page.locator("#outcome-said")).to_contain_text("6 decisions")
    expect(page.locator(".versions li")).to_have_count(2)
    page.click("#nav-queue")
    expect(first).to_have_count(3)
    expect(first).not_to_have_text(said)
    new_version = server.desk.snapshot.version
    assert new_version != old_version
    page.click("#nav-model")
    page.evaluate(say_nothing)
    page.click(".versions button")
    expect(page.locator(".versions li", has_text=old_version)).to_contain_text("in use")
    assert server.desk.snapshot.version == old_version
    expect(page.locator("#progress-words")).to_have_text(words)


def test_an_address_that_is_none_says_so(serve, open_page):
    server = serve()
    page = open_page(server.url + "/nosuch")
    said = page.locator(".not-found:visible, .nowhere:visible")
    for path, says in (("/nosuch", "no page"), ("/case/nope", "no case"), ("/case?id=nope", "no node nope")):
        page.goto(server.url + path)
        expect(said).to_contain_text(says)
        expect(page.locator("#queue-grid")).to_be_hidden()
    said.locator("a").click()
    open_queue(page)


def test_a_script_tag_in_a_name_stays_text(serve, open_page):
    server = serve()
    page = open_page(server.url)
    open_queue(page)
    page.fill("#search", "<script>")
    link = page.locator("#queue-grid a.node-link")
    expect(link).to_have_count(1)
    expect(link).to_have_text(SCRIPT_ID)
    link.click()
    expect(page.locator("#case-id")).to_have_text(SCRIPT_ID)
    expect(page.locator("#decision-card.waiting")).to_have_count(0)
    decide(page, "u", "unsure")
    page.keyboard.press("z")
    expect(page.locator("#toasts")).to_contain_text(SCRIPT_ID)
    page.goto(server.url + "/case?id=" + "%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E")
    expect(page.locator(".not-found")).to_contain_text('<img src=x onerror="window.hacked=1">')
    assert page.evaluate("window.hacked") is None
    assert page.locator("script", has_text="hacked").count() == 0


def test_two_reviewers_on_one_case(serve, open_page):
    server = serve(token=TOKEN)
    pages = []
    for name in ("ada", "bob"):
        page = open_page(server.url)
        page.fill("#reviewer", name)
        page.fill("#token", TOKEN)
        page.click("button[type=submit]")
        open_queue(page)
        page.locator("#queue-grid a.node-link").first.click()
        expect(page.locator("#decision-now")).to_contain_text("Not decided yet")
        pages.append(page)
    ada, bob = pages
    # Bob's page asks for news every few seconds; here it hears none before he decides.
    bob.route("**/_dash-update-component*", keep_from_polling)
    decide(ada, "r", "rare")
    expect(bob.locator("#decision-card:not(.waiting)")).to_be_visible()
    bob.keyboard.press("n")
    expect(bob.locator(".conflict")).to_contain_text("ada decided “rare”")
    expect(bob.locator("#decision-now .pill-rare")).to_be_visible()
    assert len(server.desk.store.since()) == 1
    bob.keyboard.press("n")  # now in the know
    expect(bob.locator("#decision-now .pill-normal")).to_be_visible()
    assert [row.reviewer for row in server.desk.store.since()] == ["ada", "bob"]


def test_a_lost_answer_makes_no_second_decision(serve, open_page):
    server = serve()
    page = open_page(server.url)
    open_queue(page)
    page.locator("#queue-grid a.node-link").first.click()
    expect(page.locator("#decision-now")).to_contain_text("Not decided yet")
    tries = []

    def lose_the_first(route):
        tries.append(route.request.post_data_json["key"])
        answer = route.fetch()
        if len(tries) == 1:
            route.fulfill(status=502, body="{}", content_type="application/json")
        else:
            route.fulfill(response=answer)

    page.route("**/api/decide", lose_the_first)
    decide(page, "r", "rare")
    assert len(tries) == 2 and tries[0] == tries[1]
    assert len(server.desk.store.since()) == 1
