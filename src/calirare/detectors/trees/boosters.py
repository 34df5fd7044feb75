"""Boosted trees by LightGBM, or by scikit-learn where that is missing, as plain arrays.

Both find about as much; LightGBM is the faster by far, and it is no part of the core install.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np

from calirare.detectors.trees.arrays import LEAF, Trees

logger = logging.getLogger(__name__)
_ROWS, _COLUMNS = 0.7, 0.3
_L2 = 1.0
_BINS = 63
_FAR_BELOW = -10.0


@dataclass(frozen=True)
class Growth:
    """What to grow.

    Args:
        rounds: At a time: so many trees, or trees per class where there are more than two.
        leaves: Of a tree.
        learning_rate: How much of each tree is added.
        num_classes: Of the labels.
        leaf: Labels that a leaf must hold at least.
        seed: Of the draws of labels and columns.
        best_splits: Whether the best threshold of a column is taken, not one at random.
    """

    rounds: int
    leaves: int
    learning_rate: float
    num_classes: int
    leaf: int
    seed: int
    best_splits: bool = False


def per_round(num_classes: int) -> int:
    """Trees of a round, and values of a tree: of two classes the second has a score, of more each."""
    return 1 if num_classes == 2 else num_classes


def grow(growth: Growth, rows: np.ndarray, y: np.ndarray) -> Iterator[Trees]:
    """Trees whose values add up to the score of the second class of two, or to one score per class; scikit-learn's split best.

    There is no end: each item holds the trees of the next rounds, and whoever has enough asks for no more. Where nothing is
    left to split, trees add nothing.
    """
    classes, codes = np.unique(y, return_inverse=True)
    values, absent = per_round(growth.num_classes), _FAR_BELOW
    silent = _leaf(np.zeros((1, values)))
    for some in _batches(growth, rows, codes, classes):
        trees = some if len(classes) == 1 else _spread(some, growth.num_classes, classes, absent)
        yield Trees.join([*trees, *[silent] * (growth.rounds * values - len(trees))], rows.shape[1])
        absent = 0.0


def _batches(
    growth: Growth, rows: np.ndarray, codes: np.ndarray, classes: np.ndarray
) -> Iterator[list[dict[str, np.ndarray]]]:
    if len(classes) == 1:  # a fold without the rare class: nothing to tell apart
        return chain([[_constant(growth, int(classes[0]), len(codes))]], repeat([]))
    try:
        import lightgbm
    except (ImportError, OSError):  # OSError: the OpenMP library that it needs is not there
        logger.info("LightGBM is not installed; scikit-learn's boosting is slower. Run: pip install 'calirare[trees]'")
        return _by_sklearn(growth, rows, codes)
    return _by_lightgbm(lightgbm, growth, rows, codes, len(classes))


def _constant(growth: Growth, label: int, count: int) -> dict[str, np.ndarray]:
    score = float(np.log(2.0 * count + 1.0))
    value = np.zeros((1, per_round(growth.num_classes)))
    if growth.num_classes == 2:
        value[0, 0] = score if label == 1 else -score
    else:
        value[0, label] = score
    return _leaf(value)


def _leaf(value: np.ndarray) -> dict[str, np.ndarray]:
    whole = np.full(1, LEAF)
    return {"feature": whole, "threshold": np.zeros(1), "left": whole, "right": whole, "value": value}


def _spread(
    trees: list[dict[str, np.ndarray]], num_classes: int, classes: np.ndarray, absent: float
) -> list[dict[str, np.ndarray]]:
    """Each tree's `(M,)` values in the column of its class; the first one's in those of `absent` classes, that no label has."""
    if num_classes == 2:
        return [tree | {"value": tree["value"][:, None]} for tree in trees]
    grown, found = per_round(len(classes)), []
    for k, tree in enumerate(trees):
        value = np.zeros((len(tree["value"]), num_classes))
        value[:, classes[1] if grown == 1 else classes[k % grown]] = tree["value"]
        if k == 0:
            value[:, np.setdiff1d(np.arange(num_classes), classes)] = absent
        found.append(tree | {"value": value})
    silent = [_leaf(np.zeros((1, num_classes)))] * (num_classes - grown)  # every round has a tree for each class
    starts = range(0, len(found), grown)
    return [one for start in starts for one in (*found[start : start + grown], *silent)]


def _by_lightgbm(
    library: Any, growth: Growth, rows: np.ndarray, codes: np.ndarray, num_classes: int
) -> Iterator[list[dict[str, np.ndarray]]]:
    settings = {
        "objective": "binary" if num_classes == 2 else "multiclass",
        "num_class": per_round(num_classes),
        "num_leaves": growth.leaves,
        "learning_rate": growth.learning_rate,
        "bagging_fraction": _ROWS,
        "bagging_freq": 1,
        "feature_fraction": _COLUMNS,
        "min_data_in_leaf": growth.leaf,
        "extra_trees": not growth.best_splits,
        "extra_seed": growth.seed,
        "lambda_l2": _L2,
        "max_bin": _BINS,
        "feature_pre_filter": False,
        "enable_bundle": False,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "seed": growth.seed,
        "verbosity": -1,
    }
    model = library.Booster(settings, library.Dataset(rows, codes, params=settings))
    while True:
        start = model.current_iteration()
        for _ in range(growth.rounds):
            model.update()
        added = model.dump_model(start_iteration=start, num_iteration=growth.rounds)["tree_info"]
        yield [_from_lightgbm(tree["tree_structure"]) for tree in added]


def _from_lightgbm(root: dict[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of one tree, children after parents; an inner node's value is the mean of its leaves'."""
    nodes, children = [root], {}
    for place, node in enumerate(nodes):  # grows while it is read
        if "split_feature" in node:
            children[place] = len(nodes), len(nodes) + 1
            nodes += [node["left_child"], node["right_child"]]
    size = len(nodes)
    found = {"feature": np.full(size, LEAF), "threshold": np.zeros(size), "value": np.zeros(size)}
    found |= {"left": np.full(size, LEAF), "right": np.full(size, LEAF)}
    counts = np.ones(size)
    for place in reversed(range(size)):
        node = nodes[place]
        if place not in children:
            found["value"][place], counts[place] = node["leaf_value"], max(node.get("leaf_count", 1), 1)
            continue
        left, right = children[place]
        counts[place] = counts[left] + counts[right]
        mean = (counts[left] * found["value"][left] + counts[right] * found["value"][right]) / counts[place]
        found["feature"][place], found["threshold"][place] = node["split_feature"], node["threshold"]
        found["left"][place], found["right"][place], found["value"][place] = left, right, mean
    return found


def _by_sklearn(growth: Growth, rows: np.ndarray, codes: np.ndarray) -> Iterator[list[dict[str, np.ndarray]]]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=0,
        warm_start=True,
        max_leaf_nodes=growth.leaves,
        learning_rate=growth.learning_rate,
        min_samples_leaf=growth.leaf,
        l2_regularization=_L2,
        max_features=_COLUMNS,
        max_bins=_BINS,
        early_stopping=False,
        random_state=growth.seed,
    )
    start = 0
    while True:
        model.max_iter += growth.rounds
        model.fit(rows, codes)
        trees = [_from_histogram(one.nodes) for each in model._predictors[start:] for one in each]
        if start == 0:  # the first round carries the base
            for tree, score in zip(trees, np.ravel(model._baseline_prediction), strict=False):
                tree["value"] = tree["value"] + score
        yield trees
        start = len(model._predictors)


def _from_histogram(nodes: np.ndarray) -> dict[str, np.ndarray]:
    leaf = nodes["is_leaf"].astype(bool)
    value = nodes["value"].astype(np.float64)
    counts = nodes["count"].astype(np.float64)
    for place in reversed(np.flatnonzero(~leaf)):
        left, right = nodes["left"][place], nodes["right"][place]
        value[place] = (counts[left] * value[left] + counts[right] * value[right]) / (counts[left] + counts[right])
    return {
        "feature": np.where(leaf, LEAF, nodes["feature_idx"]),
        "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
        "left": np.where(leaf, LEAF, nodes["left"].astype(np.int64)),
        "right": np.where(leaf, LEAF, nodes["right"].astype(np.int64)),
        "value": value,
    }
