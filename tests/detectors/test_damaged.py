"""Stored detectors that were altered: refused in one line that names what does not fit; and what is at the border is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of, word_graph

from calirare.detectors.base import Detector
from calirare.detectors.boosting import Boosting
from calirare.detectors.forest import Forest
from calirare.detectors.linear import Linear
from calirare.detectors.networks.members import GCN
from calirare.detectors.sparse import Sparse
from calirare.detectors.spreading import Spreading
from calirare.detectors.stack import Stack
from calirare.detectors.stored import numbers, texts, whole
from calirare.detectors.surroundings import Surroundings
from calirare.errors import ModelFormatError

MADE = {
    "forest": lambda: Forest(trees=4, jobs=1),
    "boosting": lambda: Boosting(rounds=4, jobs=1),
    "linear": lambda: Linear(penalty=0.1, hops=1),
    "words": lambda: Linear(penalty=0.1, hops=1),
    "gcn": lambda: GCN(hidden=2, epochs=3, weight_decay=0.05),
    "spreading": lambda: Spreading(),
    "sparse": lambda: Sparse(steps=20),
    "surroundings": lambda: Surroundings(),
    "stack": lambda: Stack([Linear(penalty=0.1, hops=0), Forest(trees=4, jobs=1)]),
}


@pytest.fixture(scope="module")
def states() -> dict[str, dict[str, Any]]:
    graph, words = dense_graph(num_nodes=80), word_graph(num_nodes=80)
    dense = inputs_of(graph), labels_of(graph, 40)
    sparse = inputs_of(words), labels_of(words, 40)
    return {name: make().fit(*(sparse if name == "words" else dense)).state() for name, make in MADE.items()}


def changed(value: np.ndarray, place: Any, to: float) -> np.ndarray:
    found = value.copy()
    found[place] = to
    return found


CASES: list[tuple[str, str, Any, str | None]] = [
    ("spreading", "keys", lambda v: v[::-1].copy(), "keys must ascend"),
    ("surroundings", "keys", lambda v: v[::-1].copy(), "keys must ascend"),
    ("surroundings", "field", lambda v: v[:, :0], "the folds"),
    ("surroundings", "field", lambda v: v[:, 1:], "the folds"),
    ("surroundings", "folds", lambda v: v - 1, "the folds"),
    ("surroundings", "folds", lambda v: v[1:], "'folds' must have 40 rows"),
    ("surroundings", "shares", lambda v: 0 * v, "the shares of the classes"),
    ("surroundings", "shares", lambda v: np.repeat(v, 3), "the number of classes"),
    ("surroundings", "left_out", lambda v: v[:, :1], "the number of classes"),
    ("spreading", "keys", lambda v: np.minimum(v, v[1]), "keys must ascend"),
    ("spreading", "pairs", lambda v: v[:, :1], "'pairs' must have two columns"),
    ("spreading", "field", lambda v: -v, "what nodes pass on is below zero"),
    ("spreading", "field", lambda v: v[1:], "'field' must have 80 rows"),
    ("spreading", "field", lambda v: v[:, :1], "the number of classes"),
    ("spreading", "shares", lambda v: 0 * v, "what nodes pass on is below zero"),
    ("spreading", "shares", lambda v: -v, "what nodes pass on is below zero"),
    ("spreading", "y", lambda v: changed(v, 0, 2), "the classes of the labels"),
    ("spreading", "y", lambda v: changed(v, 0, -1), "the classes of the labels"),
    ("spreading", "label_keys", lambda v: v[1:], "'label_keys' must have 40 rows"),
    ("spreading", "left_out", lambda v: v[:, :1], "the number of classes"),
    ("forest", "prior", lambda v: np.array([1.5, -0.5]), "the prior"),
    ("forest", "prior", lambda v: np.array([0.5, 0.6]), "the prior"),
    ("forest", "prior", lambda v: np.ones(3) / 3, "'prior' must have 2 rows"),
    ("forest", "value", lambda v: changed(v, 0, 1.1), "the votes"),
    ("forest", "value", lambda v: changed(v, 0, -0.1), "the votes"),
    ("forest", "value", lambda v: v[:, :1], "the number of classes"),
    ("forest", "groups", lambda v: changed(v, 0, 40), "groups"),
    ("forest", "groups", lambda v: changed(v, 0, -1), "groups"),
    ("forest", "groups", lambda v: v[:-1], "'groups' must have 40 rows"),
    ("forest", "groups", lambda v: v.astype(float), "'groups' must hold whole numbers"),
    ("forest", "num_groups", lambda v: "many", "'num_groups' must be a whole number"),
    ("forest", "num_groups", lambda v: v + 8, "which trees saw which labels"),
    ("forest", "out_of_bag", lambda v: v.astype(np.int64), "which trees saw which labels"),
    ("forest", "out_of_bag", lambda v: v[:-1], "which trees saw which labels"),
    ("forest", "left_out", lambda v: np.full_like(v, np.nan), "'left_out' is not finite"),
    ("forest", "left_out", lambda v: v[:, 0], "'left_out' must be an array with 2 axes"),
    ("forest", "shifts", lambda v: v[:-1], "'shifts' must have 40 rows"),
    ("forest", "shifts", lambda v: v[:, :1], "the shifts to a common level"),
    ("boosting", "left_out", lambda v: v[:, :1], "the number of classes"),
    ("boosting", "left_out", lambda v: np.zeros((40, 3)), "the number of classes"),
    ("boosting", "folds", lambda v: changed(v, 0, -1), "the folds"),
    ("boosting", "folds", lambda v: changed(v, 0, 40), "the folds"),
    ("boosting", "folds", lambda v: v[:-1], "'folds' must have 40 rows"),
    ("boosting", "folds", lambda v: v.astype(float), "'folds' must hold whole numbers"),
    ("boosting", "fold_1/num_features", lambda v: v + 1, "the columns that trees ask for"),
    ("boosting", "rounds", lambda v: 0, "'rounds' must be a whole number"),
    ("boosting", "shifts", lambda v: np.zeros((40, 2)), "the shifts to a common level"),
    ("sparse", "left_out", lambda v: v[:, :1], "the number of classes"),
    ("sparse", "chosen", lambda v: changed(v, 0, 10**6), "which columns are read"),
    ("sparse", "chosen", lambda v: v[:-1], "the coefficients"),
    ("sparse", "theta", lambda v: v[:, :0], "the coefficients"),
    ("sparse", "fold_theta", lambda v: v[:-1], "the coefficients of the folds"),
    ("sparse", "fold_intercept", lambda v: np.hstack([v, v]), "the intercepts of the folds"),
    ("sparse", "folds", lambda v: changed(v, 0, 40), "the folds"),
    ("sparse", "squash/knots", lambda v: v[:-1], None),
    ("sparse", "shifts", lambda v: np.zeros((40, 2)), "the shifts to a common level"),
    ("sparse", "num_columns", lambda v: 0, "'num_columns' must be a whole number"),
    ("linear", "num_classes", lambda v: 3, "the number of classes"),
    ("linear", "theta", lambda v: v[:, :-1], "the coefficients"),
    ("linear", "theta", lambda v: np.concatenate([v, v]), "the coefficients"),
    ("linear", "own/intercept", lambda v: np.concatenate([v, v]), "'intercept' must have 1 rows"),
    ("linear", "own/rows", lambda v: changed(v, 0, v[1]), "whose left-out models are kept"),
    ("linear", "rows", lambda v: changed(v, 0, 40), "the rows of left-out models"),
    ("linear", "rows", lambda v: changed(v, 0, -1), "the rows of left-out models"),
    ("linear", "rows", lambda v: v[:0], "the rows of left-out models"),
    ("linear", "rows", lambda v: v[:-1], "the left-out models"),
    ("linear", "directions", lambda v: v[:, :-1], "the left-out models"),
    ("linear", "directions", lambda v: v[0], "'directions' must be an array with 3 axes"),
    ("linear", "penalty", lambda v: 0.0, "the penalty"),
    ("linear", "penalty", lambda v: float("inf"), "the penalty"),
    ("linear", "penalty", lambda v: 1, "the penalty"),
    ("linear", "dense", lambda v: changed(v, 0, 10**6), "which columns are read"),
    ("linear", "dense", lambda v: changed(v, 0, -1), "which columns are read"),
    ("linear", "dense", lambda v: v[:-1], "the knots"),
    ("linear", "middle", lambda v: v[:-1], None),
    ("linear", "scale", lambda v: v[:-1], None),
    ("linear", "hops", lambda v: None, "'hops' must be a whole number"),
    ("linear", "num_columns", lambda v: -1, "'num_columns' must be a whole number"),
    ("linear", "squash/knots", lambda v: v[:, ::-1], "knots must ascend"),
    ("linear", "squash/scores", lambda v: v[:, ::-1], "knots must ascend"),
    ("linear", "squash/scores", lambda v: v[:, :-1], "knots and scores must match"),
    ("words", "words/hops", lambda v: 17, "the number of hops"),
    ("words", "words/num_words", lambda v: 0, "'num_words' must be a whole number"),
    ("words", "words/num_words", lambda v: 1, "the columns of words"),
    ("words", "words/indices_0", lambda v: changed(v, 0, -1), "the columns of words"),
    ("words", "words/ends_0", lambda v: changed(v, 0, 1), "the ends of the rows of words"),
    ("words", "words/ends_0", lambda v: changed(v, 1, v[-1] + 1), "the ends of the rows of words"),
    ("words", "words/data_1", lambda v: v[:-1], None),
    ("words", "words/middle", lambda v: v[:-1], None),
    ("gcn", "decay", lambda v: "much", "the weight decay must be a number"),
    ("gcn", "decay", lambda v: -1.0, "the weight decay must be a number"),
    ("gcn", "num_features", lambda v: 0, "'num_features' must be a whole number"),
    ("gcn", "num_classes", lambda v: 1, "'num_classes' must be a whole number"),
    ("gcn", "hidden", lambda v: 3, None),
    ("gcn", "evidence/logits", lambda v: v[:, :1], "'logits' must have a column for each class"),
    ("gcn", "evidence/logits", lambda v: v[:0], "'logits' must have a column for each class"),
    ("gcn", "evidence/rows", lambda v: changed(v, 0, v[1]), "'rows' must differ"),
    ("gcn", "evidence/rows", lambda v: changed(v, 0, 40), "'rows' are out of range"),
    ("gcn", "evidence/rows", lambda v: changed(v, 0, -1), "'rows' are out of range"),
    ("gcn", "evidence/directions", lambda v: v[:, :-1], None),
    ("stack", "places", lambda v: [0, 0], "'places' must differ"),
    ("stack", "places", lambda v: [1, 0], "the stack has no 'linear' at that place"),
    ("stack", "places", lambda v: [0, 2], "the stack has no 'forest' at that place"),
    ("stack", "places", lambda v: [0, -1], "the stack has no 'forest' at that place"),
    ("stack", "places", lambda v: None, "'places' must differ"),
    ("stack", "members", lambda v: ["linear", 5], "'members' must list texts"),
    ("stack", "members", lambda v: "linear", "'members' must list texts"),
    ("stack", "reasons", lambda v: [], "'reasons' must be a mapping"),
    ("stack", "0/penalty", lambda v: -1.0, "the penalty"),
]


@pytest.mark.parametrize(("detector", "name", "change", "what"), CASES)
def test_refused_with_what_does_not_fit(states: Any, detector: str, name: str, change: Any, what: str | None) -> None:
    state = states[detector]
    with pytest.raises(ModelFormatError) as caught:
        MADE[detector]().restore(state | {name: change(state[name])})
    said = str(caught.value)
    assert said.startswith("the stored detector is damaged: ") and said.endswith(". Save the model again.")
    assert what is None or said == f"the stored detector is damaged: {what}. Save the model again."


@pytest.mark.parametrize("detector", sorted(MADE))
@pytest.mark.parametrize("lacks", ["one", "all"])
def test_what_is_missing_is_refused_too(states: Any, detector: str, lacks: str) -> None:
    state = states[detector]
    for name in sorted(state) if lacks == "one" else [""]:
        left = {} if lacks == "all" else {key: value for key, value in state.items() if key != name}
        try:
            found: Detector = MADE[detector]().restore(left)
        except ModelFormatError:
            continue
        except (KeyError, TypeError, RuntimeError):  # the classifier's border makes one line of these
            continue
        assert lacks == "one" and np.isfinite(found.left_out_logits()).all(), name


def test_arrays_numbers_and_texts_at_the_border() -> None:
    state: dict[str, Any] = {
        "a": np.zeros((2, 0), np.float32),
        "n": 0,
        "b": True,
        "t": ("x",),
        "i": np.arange(3, dtype=np.int8),
    }
    assert numbers(state, "a", 2, size=2).dtype == np.float64 and numbers(state, "i", 1, kind="i").dtype == np.int64
    assert whole(state, "n") == 0 and texts(state, "t") == ("x",)
    for wrong in (
        lambda: whole(state, "b"),
        lambda: whole(state, "n", 1),
        lambda: numbers(state, "i", 1),
        lambda: texts(state, "n"),
    ):
        with pytest.raises(ModelFormatError):
            wrong()
