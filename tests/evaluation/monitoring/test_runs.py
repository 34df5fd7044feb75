"""What a scoring run says, against plain counting and against draws whose truth is known."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from calirare.data.tables.shift import stability_index
from calirare.decisions.costs import Costs, decide
from calirare.errors import InputError
from calirare.evaluation.monitoring.alarms import _share_moved
from calirare.evaluation.monitoring.runs import Reference, Run, measure_run
from calirare.uncertainty.calibration_maps import CalibrationDraws

CERTAIN = CalibrationDraws(np.tile([0.0, 1.0], (500, 1)))


def scores(seed, n=4_000, shift=0.0):
    return 1 / (1 + np.exp(-np.random.default_rng(seed).normal(-3 + shift, 1.5, n)))


def test_bins_hold_the_shares_that_the_levels_say():
    reference = Reference.of(scores(0))
    counts = np.bincount(reference.bins(scores(0)), minlength=reference.num_bins)
    np.testing.assert_allclose(counts / 4_000, [0.1] * 9 + [0.05, 0.04, 0.01], atol=1e-3)
    assert reference.edges[0] == 0 and reference.edges[-1] == 1 and (np.diff(reference.edges) > 0).all()


def test_a_run_counts_what_a_loop_counts():
    reference, p = Reference.of(scores(0)), scores(1, 500)
    run = measure_run(p, reference, CERTAIN)
    bins = [sum(cut < np.log(one / (1 - one)) for cut in reference.profile["cuts"]) for one in p]
    for b in range(reference.num_bins):
        inside = [one for one, own in zip(p, bins, strict=True) if own == b]
        assert run.counts[b] == len(inside)
        assert run.said[b] == pytest.approx(np.mean(inside) if inside else 0.0)
    assert run.alerted == np.mean(p >= 5 / 55)
    assert run.actions == {
        name: int((decide(p, Costs()).action == name).sum()) for name in ("alert", "review", "clear")
    }
    assert run.rare[0] == pytest.approx(p.sum())
    then, now = np.array(reference.profile["shares"]), np.array(run.counts) / 500
    assert run.score_shift == stability_index(then, now, 4_000, 500)


def test_quiet_scores_are_quiet_and_moved_ones_are_not():
    reference = Reference.of(scores(0))
    assert all(measure_run(scores(seed), reference, CERTAIN).score_shift[1] < 0.0 for seed in range(1, 6))
    assert measure_run(scores(9, shift=0.8), reference, CERTAIN).score_shift[1] > 0.1


def test_a_run_survives_json_and_needs_a_node():
    reference = Reference.of(scores(0))
    run = measure_run(scores(1, 300), reference, CERTAIN)
    again = Run.from_json(json.loads(json.dumps(run.to_json())) | {"added later": 1})
    assert json.dumps(again.to_json()) == json.dumps(run.to_json())
    with pytest.raises(InputError, match="at least one node"):
        measure_run([], reference, CERTAIN)


def draw(n, share, rng):
    """Scores that are calibrated where 5% are rare, of nodes of which another share is."""
    rare = rng.random(n) < share
    odds = np.exp(2 * rng.normal(np.where(rare, 1.0, -1.0))) * 0.05 / 0.95
    return odds / (1 + odds), rare


def test_a_doubled_share_is_read_off_the_scores():
    rng = np.random.default_rng(0)
    (old, rare), (new, _) = draw(4_000, 0.05, rng), draw(4_000, 0.10, rng)
    run = measure_run(new, Reference.of(old), CERTAIN, left_out=(old, rare, 0.05))
    assert run.share["before"] == 0.05 and run.share["lower"] < 0.10 < run.share["upper"]
    assert run.share["now"] == pytest.approx(0.10, abs=0.02)


def test_labels_that_were_chosen_raise_no_alarm_on_nodes_like_those_of_the_fit():
    rng = np.random.default_rng(1)
    (labelled, rare), (then, _), (now, _), (later, _) = (draw(4_000, k, rng) for k in (0.05, 0.01, 0.01, 0.04))
    reference = Reference.from_json(json.loads(json.dumps(asdict(Reference.of(then, label_share=0.05)))))
    runs = [measure_run(p, reference, CERTAIN, left_out=(labelled, rare, 0.05)) for p in (now, later)]
    assert reference.share == pytest.approx(0.01, abs=0.005)
    assert [_share_moved(run.share) for run in runs] == ["quiet", "alarm"]
    of_earlier = replace(reference, share=None)
    assert measure_run(now, of_earlier, CERTAIN, left_out=(labelled, rare, 0.05)).share["before"] == 0.05
