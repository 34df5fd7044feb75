"""The numbers on the first page are those of the leaderboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BOARD = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
CALLED = {
    "`auto`, the default": "auto",
    "`forest`": "our forest",
    "`linear`": "our linear",
    "random forest on our columns, sigmoid": "forest, recipe, sigmoid",
    "LightGBM on our columns, isotonic": "lightgbm, recipe, isotonic",
    "random forest on [x, Ax, A²x], sigmoid": "forest, propagated, sigmoid",
    "GCN as trained": "gcn as trained",
}
"""What each is called here and there."""
COLUMNS = ("rank AP", "rank NLL", "AP", "NLL", "seconds")


def table(text: str, head: str) -> dict[str, dict[str, str]]:
    """The first table behind a heading, by row and column."""
    lines = text[text.index(head) :].splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("|"))
    stop = next(k for k in range(start, len(lines)) if not lines[k].startswith("|"))
    first, _, *rows = ([cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines[start:stop])
    return {row[0]: dict(zip(first, row, strict=True)) for row in rows}


@pytest.mark.parametrize("name", CALLED)
def test_every_row_is_one_of_the_leaderboard(name):
    ours = list(table(README, "Eleven graphs, a tenth")[name].values())[1:]
    there = table(BOARD[BOARD.index("\n## A tenth labelled") :], "### Over all graphs")[CALLED[name]]
    assert ours == [there[column] for column in COLUMNS]


def test_no_row_is_forgotten_and_so_many_compete():
    assert list(table(README, "Eleven graphs, a tenth")) == list(CALLED)
    (count, *_) = re.findall(r"number 1 of (\d+) in NLL", BOARD)
    assert f"among {count} competitors" in README


def test_with_few_labels_it_leads_as_is_said():
    few = table(BOARD, "## In a minute")
    others = [row["NLL, few labels"] for row in few.values() if row["family"] != "ours"]
    best = min(number for number in others if number != "–")
    assert f"(NLL {few['auto']['NLL, few labels']},\nthe next that is not ours {best})" in README
