"""Five-fold calibration with shared folds is scikit-learn's own."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from calirare.benchmark.competitors import Problem
from calirare.benchmark.competitors.columns import attributes, propagated
from calirare.benchmark.competitors.tabular import tabular
from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.data.synthetic import make_transactions


@pytest.mark.refits
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_folds_equal_scikit_learns(method):
    graph = make_transactions(num_nodes=300, rare_share=0.2, seed=1)
    problem = Problem(graph, Split(train=np.arange(150)), seed=4)

    def make(seed):
        return RandomForestClassifier(10, min_samples_leaf=3, random_state=seed)

    ours = next(one for one in tabular("f", make, "") if one.name == f"f, attributes, {method}").answer(problem)
    x, folds = attributes(problem), StratifiedKFold(5, shuffle=True, random_state=4)
    theirs = CalibratedClassifierCV(make(4), method=method, cv=folds, ensemble=True)
    theirs.fit(x[problem.nodes], problem.y)
    assert np.allclose(ours.probability, theirs.predict_proba(x)[:, 1], atol=2e-4)


def test_propagated_columns_are_means_over_neighbours_and_two_hops():
    graph = RareGraph(
        x=np.array([[1.0], [2.0], [6.0], [5.0]]), edge_index=np.array([[0, 1], [1, 2]]), y=np.array([0, 1, 0, 1])
    )
    problem = Problem(graph, Split(train=np.array([0, 1])))
    expected = [[1, 2, 3.5], [2, 3.5, 2], [6, 2, 3.5], [5, 0, 0]]
    assert np.allclose(propagated(problem), expected)
    nothing = RareGraph(x=np.zeros((4, 0)), edge_index=graph.edge_index, y=graph.y)
    assert attributes(Problem(nothing, Split(train=np.array([0, 1])))).tolist() == [[1.0]] * 4
