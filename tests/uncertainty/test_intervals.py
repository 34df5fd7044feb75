"""Intervals against numerical integration, an independent library, and worlds in which the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta
from venn_abers import VennAbers

from calirare.errors import InputError, LabelError
from calirare.uncertainty import intervals
from calirare.uncertainty.calibration_maps import CalibrationDraws, Drawn
from calirare.uncertainty.intervals import calibration_draws, evidence_of_a_label
from calirare.uncertainty.posterior import at_share, bent_line, draw_posterior, finite_logit


def world(rng, num_labels, num_nodes=0, truth=lambda u: u):
    """Scores of labels and of other nodes from one population, and who is rare."""
    u = rng.normal(-3.4, 1.8, size=num_labels + num_nodes)
    share = expit(truth(u))
    y = rng.random(u.size) < share
    y[0], y[1] = True, False  # both classes are there
    return expit(u[:num_labels]), y[:num_labels], expit(u[num_labels:]), share[num_labels:]


def draws_of(p, y, **options):
    return calibration_draws(p, y, **{"rare_share": float(y.mean()), "num_share_labels": y.size} | options)


def test_the_posterior_is_that_of_numerical_integration():
    """Two parameters, twelve labels of which two are rare: the density on a fine grid, summed."""
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=12), np.repeat([1.0, 0.0], [2, 10])
    features, count = bent_line(z, ()), np.full(12, 0.5)
    a, b = np.meshgrid(np.linspace(-12, 8, 401), np.linspace(-7, 9, 401), indexing="ij")
    grid = np.column_stack([a.ravel(), b.ravel()])
    line = grid @ features.T
    prior = -0.5 * ((grid[:, 0] - logit((count @ y + 0.5) / (count.sum() + 1))) / 5) ** 2
    density = (line * y - np.logaddexp(0, line)) @ count + prior - 0.5 * ((grid[:, 1] - 1.5) / 2) ** 2
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    drawn = draw_posterior(features, y, count, 40_000, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), weight @ grid, atol=0.05)
    centred = grid - weight @ grid
    np.testing.assert_allclose(np.cov(drawn.T), (centred.T * weight) @ centred, atol=0.15)


@pytest.mark.parametrize("apart", [0.0, 1.0])
def test_each_draw_has_the_share_it_is_given(apart):
    """Over the scores as they are, and where each draw sees them elsewhere."""
    rng = np.random.default_rng(1)
    z, weight, knots = rng.normal(size=50), rng.dirichlet(np.ones(50)), (0.0, 1.0)
    share, seen = rng.uniform(0.01, 0.6, size=30), z + apart * rng.normal(size=(30, 1))
    shifted = at_share(rng.normal(size=(30, 4)) * 3, seen, knots, weight, share)
    found = [expit(bent_line(scores, knots) @ draw) @ weight for scores, draw in zip(seen, shifted, strict=True)]
    np.testing.assert_allclose(found, share, rtol=1e-4)


def test_with_many_labels_it_holds_the_answer_of_venn_abers():
    """A map that is no line: what the package finds at each score lies inside, or within a hair of it."""
    rng = np.random.default_rng(2)
    p, y, others, share = world(rng, 8_000, 200, truth=lambda u: -2.6 + 1.6 * np.tanh(u + 3) + 0.5 * (u + 3))
    maps = draws_of(p, y)
    found = maps.interval(others, 0.99)
    judge = VennAbers()
    judge.fit(np.column_stack([1 - p, p]), y.astype(int))
    _, bounds = judge.predict_proba(np.column_stack([1 - others, others]))
    theirs = bounds.mean(axis=1)
    draws = maps.mean(others)
    assert np.abs(draws - theirs).mean() < 0.01
    assert np.abs(draws - share).mean() < np.abs(theirs - share).mean()  # smoother, hence nearer to the truth
    assert (found.upper >= theirs - 0.03).mean() > 0.95 and (found.lower <= theirs + 0.03).mean() > 0.95


def test_the_scale_of_the_scores_does_not_matter():
    p, y, others, _ = world(np.random.default_rng(3), 300, 50)
    squeezed = [expit(0.3 * logit(values) - 1) for values in (p, others)]
    plain, other = draws_of(p, y), draws_of(squeezed[0], y)
    exact = [draws.probabilities(logit(at)).mean(axis=0) for draws, at in ((plain, others), (other, squeezed[1]))]
    np.testing.assert_allclose(*exact, rtol=1e-6)
    np.testing.assert_allclose(plain.mean(others), exact[0], rtol=1e-3)  # by way of a grid


def test_more_labels_make_it_narrower_and_it_holds_the_probability():
    widths = []
    for num_labels in (60, 200, 600, 2_000):
        mean = []
        for seed in range(4):
            p, y, others, _ = world(np.random.default_rng(seed), num_labels, 200)
            found = draws_of(p, y, num_draws=300).interval(others)
            assert ((found.lower <= others) & (others <= found.upper)).all()
            assert (found.lower >= 0).all() and (found.upper <= 1).all()
            mean.append(found.width.mean())
        widths.append(np.mean(mean))
    assert widths == sorted(widths, reverse=True) and widths[3] < 0.4 * widths[0]


@pytest.mark.slow
@pytest.mark.parametrize("rare", [3, 10, 30, 100])
@pytest.mark.parametrize("truth", [lambda u: u, lambda u: -3.0 + np.maximum(u + 2.5, 0), lambda u: 0 * u - 3.0])
def test_nine_of_ten_intervals_hold_the_true_share_at_every_score(rare, truth):
    """Scores that are right, that bend, and that say nothing; three standard errors of 200 worlds around 90%."""
    inside = []
    for seed in range(200):
        p, y, others, share = world(np.random.default_rng([seed, rare]), 20 * rare, 2_000, truth)
        order = np.argsort(others)[[200, 1000, 1600, 1900, 1980]]
        found = draws_of(p, y, num_draws=400, seed=seed)
        lower, upper = np.quantile(found.probabilities(logit(others[order])), [0.05, 0.95], axis=0)
        inside.append((lower <= share[order]) & (share[order] <= upper))
    assert (np.mean(inside, axis=0) > 0.83).all(), np.mean(inside, axis=0)


def test_scores_that_are_all_alike_leave_the_base_rate():
    y = np.repeat([True, False], [5, 95])
    found = draws_of(np.full(100, 0.05), y).interval(np.full(3, 0.05))
    # Jeffreys' interval for 5 of 100.
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [0.0223, 0.0954], atol=0.006)


def test_a_known_share_moves_the_interval():
    p, y, others, _ = world(np.random.default_rng(4), 1_000, 100)
    one, three = (draws_of(p, y, rare_share=share, num_share_labels=None).mean(others).mean() for share in (0.03, 0.09))
    assert three / one == pytest.approx(3, rel=0.25)


def test_of_the_share_only_what_the_scores_do_not_explain_is_open():
    """Labels leave open of the mean over their own scores E p(1 − p)/n, as a logistic regression does; other labels, whose
    scores are not known, s(1 − s)/n. To both comes what a shift of the scores by 0.4/√r deviations moves the mean."""
    p, y, _, _ = world(np.random.default_rng(5), 3_000, truth=lambda u: 2 * u + 2)
    u = logit(p)
    true, share, size = expit(2 * u + 2), float(y.mean()), y.size
    known, elsewhere = (
        draws_of(p, y, num_share_labels=num).probabilities(u).mean(axis=1).var() for num in (size, size + 1)
    )
    moved = (2 * true * (1 - true)).mean() * u.std() * 0.4 / np.sqrt(y.sum())
    assert known == pytest.approx((true * (1 - true)).mean() / size + moved**2, rel=0.2)
    assert elsewhere == pytest.approx(share * (1 - share) / size + moved**2, rel=0.2)
    assert known < 0.8 * elsewhere


def test_scores_that_count_for_nothing_leave_the_share_to_the_count():
    """With one rare label the maps know nothing, and the share is Jeffreys' of 1 of 50."""
    y = np.arange(50) == 0
    drawn = intervals._population_shares(np.full(20_000, 0.3), y, 0.02, 50, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(0.3)  # maps that are sure of it are believed
    wide = expit(np.random.default_rng(1).normal(0.0, 50.0, 20_000))
    drawn = intervals._population_shares(wide, y, 0.02, 50, np.random.default_rng(0))
    np.testing.assert_allclose(np.quantile(drawn, [0.05, 0.95]), beta.ppf([0.05, 0.95], 1.5, 49.5), rtol=0.1)


@pytest.mark.parametrize("rare", [2, 20, 200])
def test_rare_labels_leave_open_where_the_population_scores(rare):
    """The share is known here; over scores that lie where left-out ones do, each map would have it exactly. A map that rises
    as the scores do moves its mean by 0.4/√r of their deviations; labels that are in order want one that rises faster."""
    score = np.random.default_rng(0).normal(-3.4, 1.8, size=20 * rare)
    y = np.argsort(np.argsort(-score)) < rare
    found = draws_of(expit(score), y, num_share_labels=None, num_draws=300)
    apart = 0.4 / np.sqrt(rare) * 1.8
    assert apart < logit(found.probabilities(score).mean(axis=1)).std() < 1.6 * apart


def test_a_label_counts_less_where_rare_ones_are_few():
    assert evidence_of_a_label(1) < evidence_of_a_label(10) < 1


@pytest.mark.parametrize("rare", [10, 100])
def test_no_labels_are_surer_of_those_that_look_rare_than_jeffreys_is(rare):
    """Rare labels far above all others: a straight line would be certain of the next one. Were all r counted at the same
    score, the lower end of their share would be the 5% quantile of Beta(r + 1/2, 1/2)."""
    score = np.concatenate([np.linspace(3, 7, rare), np.linspace(-9, -3, 9 * rare)])
    found = draws_of(expit(score), np.arange(10 * rare) < rare)
    drawn = found.probabilities(score[:rare]).mean(axis=1)
    assert np.quantile(drawn, 0.05) < beta.ppf(0.05, rare + 0.5, 0.5)
    assert found.interval([expit(6.0)]).upper[0] > 0.999  # nothing speaks against certainty, either


def test_others_among_the_highest_scores_are_not_taken_for_lower_ones(monkeypatch):
    """Eight thousand labels, counted together where they score alike, against every label by itself."""
    rng = np.random.default_rng(0)
    score = rng.normal(-3.4, 1.8, size=8_000)
    y = rng.random(score.size) < np.minimum(expit(score), 0.8)
    at = [0.01, 0.5, 0.7, 0.9, 0.95]
    together = draws_of(expit(score), y, num_draws=100).interval(at)
    monkeypatch.setattr(intervals, "_MOST_BINS", 100_000)
    alone = draws_of(expit(score), y, num_draws=100).interval(at)
    np.testing.assert_allclose(together.lower, alone.lower, atol=0.004)
    np.testing.assert_allclose(together.upper, alone.upper, atol=0.004)


def test_one_rare_label_gives_a_wide_finite_interval():
    p, y = np.array([0.9, *np.linspace(0.01, 0.1, 30)]), np.arange(31) == 0
    draws = draws_of(p, y)
    found = draws.interval([0.95])
    assert np.isfinite(draws.parameters).all() and found.width[0] > 0.5


def test_nothing_asked_nothing_said():
    found = CalibrationDraws(np.array([[0.0, 1.0]])).interval(np.empty(0))
    assert found.lower.shape == found.upper.shape == (0,)


def test_nonsense_is_refused():
    with pytest.raises(LabelError, match="rare class and of another"):
        draws_of(np.array([0.1, 0.2]), np.array([False, False]), rare_share=0.1)
    with pytest.raises(InputError, match="rare_share"):
        draws_of(np.array([0.1, 0.2]), np.array([False, True]), rare_share=1.0)
    with pytest.raises(InputError, match="coverage"):
        CalibrationDraws(np.array([[0.0, 1.0]])).interval([0.1], coverage=1.0)


def test_a_node_is_told_the_same_in_any_company():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, 500)
    draws = calibration_draws(p, rng.random(500) < p, rare_share=0.2, num_share_labels=500)
    together = draws.interval(p)
    for some in (slice(0, 3), slice(100, 250)):
        alone = draws.interval(p[some])
        np.testing.assert_array_equal(alone.lower, together.lower[some])
        np.testing.assert_array_equal(alone.upper, together.upper[some])


def test_what_was_drawn_to_the_base_rate_or_moved_is_asked_as_it_was_before():
    """The maps see the scores of the calibration: the intervals are the same, widened to hold what is said."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 5.0, 600)
    y = rng.random(600) < p
    plain = calibration_draws(p, y, rare_share=float(y.mean()), num_share_labels=600)
    base, keep, odds = float(y.mean()), 0.6, 3.0
    drawn = base + keep * (p - base)
    said = odds * drawn / (odds * drawn + 1 - drawn)
    undo = Drawn(base, keep, odds)
    np.testing.assert_allclose(undo.scores(said), finite_logit(p), atol=1e-6)
    found = calibration_draws(said, y, rare_share=float(y.mean()), num_share_labels=600, undo=undo)
    np.testing.assert_allclose(found.parameters, plain.parameters, rtol=1e-6)
    interval, want = found.interval(said), plain.interval(p)
    np.testing.assert_allclose(interval.upper, np.maximum(want.upper, said), rtol=1e-5)
    assert (interval.lower <= said).all()


def test_rows_of_one_patient_say_less_than_as_many_patients():
    """A hundred patients of four rows each, alike in all: the share over a population that is known."""
    everybody = np.random.default_rng(9).normal(-1, 1, 500)
    held = {"together": 0, "each alone": 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        u, patient = rng.normal(-1, 1, 100), np.repeat(np.arange(100), 4)
        y = (rng.random(100) < expit(u))[patient]
        for name, groups in (("together", patient), ("each alone", None)):
            draws = draws_of(expit(u)[patient], y, groups=groups, seed=seed)
            lower, upper = np.quantile(draws.probabilities(everybody).mean(axis=1), [0.05, 0.95])
            held[name] += lower <= expit(everybody).mean() <= upper
    assert 82 <= held["together"] <= 97 and held["each alone"] < 75


def test_labels_that_stand_alone_count_as_they_did():
    p, y, _, _ = world(np.random.default_rng(3), 300)
    alone, told = draws_of(p, y), draws_of(p, y, groups=np.arange(300))
    np.testing.assert_array_equal(told.parameters, alone.parameters)
