"""Ranks against SciPy's and against a loop."""

import numpy as np
import pytest
from scipy.stats import studentized_range

from calirare.benchmark.leaderboard.measures import PRICES
from calirare.benchmark.leaderboard.summary import in_a_minute
from calirare.benchmark.leaderboard.tables import sets_table, standings_of
from calirare.benchmark.standings import Cell, critical_difference, mean_ranks

NAMES = ("auto", "our linear", "our gcn", "bwgnn")


@pytest.fixture
def standings():
    rng = np.random.default_rng(0)
    rows = [
        {"graph": f"g{g}", "protocol": "few", "size": size, "seed": seed, "competitor": name,
         "nll": 1.0 + k + rng.normal(0, 0.8), "average_precision": rng.random()}
        for g in range(6) for size in (5, 10) for seed in range(3) for k, name in enumerate(NAMES)
    ]  # fmt: skip
    return standings_of([*rows, {**rows[0], "failed": "no", "nll": -100.0}])


def test_ranks_are_averaged_within_a_graph_first(standings):
    found = mean_ranks(standings, "nll", NAMES)
    table = np.zeros((6, 4))
    for g in range(6):
        for size in (5, 10):
            means = [standings.mean(Cell(f"g{g}", "few", size), "nll", name) for name in NAMES]
            for k, mean in enumerate(means):
                table[g, k] += sum(other < mean for other in means) / 2 + 0.5
    assert found.num_graphs == 6 and list(found.ranks)[0] == "auto"
    for k, name in enumerate(NAMES):
        assert found.ranks[name] == pytest.approx(table[:, k].mean())


def test_who_lacks_a_number_is_not_ranked(standings):
    for row in standings.values[("g0", "few", 5)]["bwgnn"].values():
        row["nll"] = float("nan")
    assert set(mean_ranks(standings.of_protocol("few"), "nll", NAMES).ranks) == set(NAMES) - {"bwgnn"}


def test_nobody_is_judged_by_more_draws_than_the_core_has():
    row = {"graph": "g", "protocol": "few", "size": 5}
    rows = [row | {"competitor": name, "seed": seed, "nll": seed} for name in NAMES for seed in (0, 1)]
    rows += [
        row | {"competitor": "auto", "seed": 2, "nll": 50.0},
        row | {"competitor": "our sage", "seed": 1, "nll": 0.0},
    ]
    standings = standings_of(rows)
    cell = Cell("g", "few", 5)
    assert {name: list(seeds) for name, seeds in standings.values[cell].items()} == {
        **dict.fromkeys(NAMES, [0, 1]), "our sage": [1]
    }  # fmt: skip
    assert set(mean_ranks(standings, "nll", [*NAMES, "our sage"]).ranks) == set(NAMES)


def test_higher_is_better_where_it_is(standings):
    cell = standings.cells[0]
    first = standings.within([cell])
    ranks = mean_ranks(first, "average_precision", NAMES).ranks
    best = max(NAMES, key=lambda name: standings.mean(cell, "average_precision", name))
    assert list(ranks)[0] == best
    assert first.wins("average_precision", NAMES)[best] == (1, 0)


def test_the_critical_difference_uses_the_studentised_range():
    expected = studentized_range.ppf(0.95, 5, np.inf) / np.sqrt(2) * np.sqrt(5 * 6 / (6 * 8))
    assert critical_difference(5, 8) == pytest.approx(expected, rel=1e-4)
    assert np.isnan(critical_difference(1, 8))


def test_sets_are_told_smallest_first_with_the_graph_that_is_covered_least():
    sets = {"auto": {"a": (0.95, 1.1), "b": (0.89, 1.3)}, "gcn + daps": {"a": (0.80, 1.0), "b": (1.0, 1.2)}}
    rows = [
        {"graph": graph, "protocol": "tenth", "size": 10, "seed": 0, "competitor": name, "coverage_rare": covered,
         "coverage_normal": 0.9, "set_size": size, "one_class": 0.5, "seconds": 1.0}
        for name, found in sets.items() for graph, (covered, size) in found.items()
    ]  # fmt: skip
    standings = standings_of(rows)
    table = sets_table(standings, ["auto", "gcn + daps", "gcn + snaps"])
    assert [[cell.text for cell in row[:3]] for row in table.rows] == [
        ["gcn + daps", "90.0", "80.0 (a)"],
        ["auto", "92.0", "89.0 (b)"],
    ]


def test_the_first_section_says_who_beats_the_champion_beyond_doubt(standings):
    rows = [row for cell in standings.values.values() for one in cell.values() for row in one.values()]
    few = in_a_minute(standings_of(rows), "")
    assert "`auto` is number 1 of 4 in NLL" in few and "by NLL and beyond a paired test: nobody" in few
    worse = [row | {"nll": row["nll"] + 50 * (row["competitor"] == "auto"), "protocol": "tenth"} for row in rows]
    text = in_a_minute(standings_of([*rows, *worse]), "![picture](x.svg)")
    assert "A tenth labelled: by mean rank over graphs `auto` is number 4 of 4 in NLL (4.0; first: our linear" in text
    assert "A tenth labelled, NLL: `auto` has the best mean on 0 of 12 graphs; elsewhere our linear on g0 (" in text
    assert "believed more" in text.lower() and "our linear on g" in text and "![picture](x.svg)" in text
    table = [
        line.split(" | ")[:2] for line in text.splitlines() if line.startswith("| our") or line.startswith("| bwgnn")
    ]
    assert table == [["| our linear", "ours"], ["| our gcn", "ours"], ["| bwgnn", "networks as trained"]]


def test_costs_are_counted_beside_all_and_beside_others_than_ours():
    prices = {"auto": 2.0, "our linear": 1.0, "bwgnn": 3.0}
    rows = [
        {"graph": "g", "protocol": "tenth", "size": 10, "seed": seed, "competitor": name, "nll": 0.1, "brier": 0.1,
         "average_precision": 0.5, "seconds": 1.0} | {measure: price + 0.01 * seed for measure in PRICES}
        for name, price in prices.items() for seed in range(3)
    ]  # fmt: skip
    said = in_a_minute(standings_of(rows), "")
    assert "test over the seeds: A tenth labelled 0 and 0 of 3 (0%, 0%)." in said
    assert "members of `auto` or kin to them: A tenth labelled 3 and 3 of 3 (100%, 100%)." in said
