"""The forest is scikit-learn's to the last bit, and stays so where scikit-learn changes its private parts."""

import runpy

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import _criterion, _splitter

from calirare.benchmark.competitors import Problem, forest
from calirare.benchmark.competitors.columns import attributes
from calirare.data.split import Split
from calirare.data.synthetic import make_transactions


def test_it_is_scikit_learns_to_the_last_bit():
    problem = Problem(make_transactions(num_nodes=300, rare_share=0.2, seed=1), Split(train=np.arange(150)))
    x, y = attributes(problem), problem.y
    theirs = RandomForestClassifier(20, min_samples_leaf=2, random_state=3).fit(x[problem.nodes], y)
    ours = forest.PlainForest(20, random_state=3).fit(x[problem.nodes], y)
    assert np.array_equal(ours.predict_proba(x), theirs.predict_proba(x))
    assert isinstance(forest.make(3), forest.PlainForest)


@pytest.mark.parametrize("change", ["gone", "other arguments", "other trees"])
def test_where_private_parts_change_scikit_learns_own_takes_its_place(change, monkeypatch, caplog):
    if change == "gone":
        monkeypatch.delattr(_splitter, "BestSplitter")
    elif change == "other arguments":
        monkeypatch.setattr(_splitter, "BestSplitter", lambda criterion: None)
    else:
        monkeypatch.setattr(_criterion, "Gini", _criterion.Entropy)
    made = runpy.run_path(forest.__file__)["make"](3)  # as in a process that imports it anew
    x = np.random.default_rng(1).normal(size=(80, 5))
    y = (x[:, 0] + x[:, 1] > 0.5).astype(np.int64)
    monkeypatch.undo()
    assert isinstance(made, RandomForestClassifier) and "scikit-learn's trees have changed" in caplog.text
    ours = forest.make(3)
    assert made.n_estimators == ours.trees
    made, ours = made.set_params(n_estimators=5), ours.set_params(trees=5)
    assert np.array_equal(made.fit(x, y).predict_proba(x), ours.fit(x, y).predict_proba(x))
