"""Keys: none is lost, each waits for the case that it is for, and they work wherever the cursor is but in a text."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect


@pytest.fixture
def server(serve):
    return serve(reviewer="ada")


@pytest.fixture
def order(server):
    """Names of the first cases of the queue."""
    desk = server.desk
    return [str(desk.snapshot.ids[node]) for node in desk.queue.order(desk.view({}))[:4]]


@pytest.fixture
def page(server, order, open_page, there):
    """On the first case."""
    page = open_page(f"{server.url}/case?id={order[0]}")
    there(page, order[0])
    return page


def decided(server):
    return [(row.node_id, row.decision) for row in server.desk.store.since()]


def test_a_case_decided_and_the_next_without_a_pause(server, page, order, there):
    """Keys work from the moment a case is on screen, and those that turn the page wait for it."""
    for name, key, word in zip(order, "rnu", ("rare", "normal", "unsure"), strict=False):
        there(page, name)
        page.keyboard.press(key)
        page.keyboard.press("j")  # while the decision is on its way
        expect(page.locator("#toasts")).to_contain_text(f"Decided: {word}")
    there(page, order[3])
    assert decided(server) == list(zip(order, ("rare", "normal", "unsure"), strict=False))
    for key in "kkj":  # as fast as a machine types
        page.keyboard.press(key)
    there(page, order[2])


def test_a_key_waits_for_the_cards_and_a_click_on_old_ones_decides_nothing(server, page, order, there):
    held, let_go = [], []

    def hold_the_cards(route):
        if not let_go and "case-probability" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/_dash-update-component*", hold_the_cards)
    page.keyboard.press("j")
    expect(page.locator("#case-id")).to_have_text(order[1])  # its head, while the cards are those of the case before
    expect(page.locator("body.turning")).to_be_attached()
    expect(page.locator("#decision-now")).to_contain_text("Not decided yet")
    page.click("#decide-rare")
    expect(page.locator("#toasts")).to_contain_text("still being opened; nothing was decided")
    page.keyboard.press("n")
    assert decided(server) == []  # not before its cards are on screen
    let_go.append(True)
    for route in held:
        route.continue_()
    there(page, order[1])
    expect(page.locator("#decision-now .pill-normal")).to_be_visible()
    assert decided(server) == [(order[1], "normal")]


def test_keys_typed_in_a_breath_are_for_one_case_after_the_other(server, page, order, there):
    for key in "rjnju":
        page.keyboard.press(key)
    there(page, order[2])
    expect(page.locator("#decision-now .pill-unsure")).to_be_visible()
    assert decided(server) == list(zip(order, ("rare", "normal", "unsure"), strict=False))


def test_keys_go_on_after_the_box_for_the_next_case_was_ticked(server, page, order, there):
    page.get_by_role("checkbox", name="then open the next case").check()
    page.keyboard.press("r")
    page.keyboard.press("r")  # a key that bounces decides one case
    there(page, order[1])
    assert decided(server) == [(order[0], "rare")]
    page.keyboard.press("n")
    there(page, order[2])
    assert decided(server) == [(order[0], "rare"), (order[1], "normal")]
    page.keyboard.press("z")
    there(page, order[1])
    expect(page.locator("#decision-now")).to_contain_text("Not decided yet")
