"""What every competitor promises: P(rare) or sets for every node, from the labels of the problem and no others."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from calirare.benchmark.competitors import Problem, competitors
from calirare.data.split import Split
from calirare.data.synthetic import make_transactions

QUICK = ("lightgbm, attributes", "our linear")
"""Groups of the default run; the others take seconds."""
GROUPS = sorted({one.group for one in competitors().values()})


@pytest.fixture(scope="module")
def graph():
    return make_transactions(num_nodes=240, rare_share=0.2, seed=3)


def ask(graph, group, split, **options):
    problem = Problem(graph, split, seed=1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries warn of few labels
        return {one.name: one.answer(problem) for one in competitors().values() if one.group == group}


def draw(graph):
    order = np.random.default_rng(0).permutation(graph.num_nodes)
    return Split(train=np.sort(order[:120]), test=np.sort(order[120:]))


@pytest.mark.refits
@pytest.mark.parametrize(
    "group",
    [pytest.param(group, marks=() if group in QUICK else pytest.mark.slow) for group in GROUPS],
)
def test_answers_for_every_node_from_the_given_labels_alone(graph, group):
    split = draw(graph)
    found = ask(graph, group, split)
    lies = graph.y.copy()
    lies[split.test] = 1 - lies[split.test]
    other = replace(graph, y=lies, original_y=None, true_probability=None)
    again = ask(other, group, split)
    for name, answer in found.items():
        assert (answer.probability is None) == (competitors()[name].family == "sets")
        if answer.probability is not None:
            p = answer.probability
            assert p.shape == (graph.num_nodes,) and p.min() >= 0 and p.max() <= 1 and np.isfinite(p).all()
            assert np.array_equal(p, again[name].probability), f"{name} reads labels that it was not given"
            assert len(np.unique(p)) > 1
        if answer.sets is not None:
            assert answer.sets.shape == (graph.num_nodes, 2) and answer.sets.dtype == bool
            assert np.array_equal(answer.sets, again[name].sets)


@pytest.mark.refits
def test_a_told_share_moves_everybody_alike(graph):
    split = draw(graph)
    told = ask(graph, "lightgbm, attributes", split, rare_share=0.01)
    plain = ask(graph, "lightgbm, attributes", split)
    for name, answer in told.items():
        assert answer.probability.mean() < 0.5 * plain[name].probability.mean()
        order = np.argsort(plain[name].probability, kind="stable")
        assert (np.diff(answer.probability[order]) >= -1e-12).all()


def test_what_is_shared_is_charged_to_each(graph):
    problem = Problem(graph, draw(graph))

    def work():
        return sum(range(3_000_000))

    first = problem.once("x", work)
    assert problem.borrowed == 0 and problem.once("x", work) == first and problem.borrowed > 0
