"""Whatever a model folder holds: the model that was saved, or one of our errors. Nothing in between."""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import strategies as st
from nested_json import paths_of, replaced
from properties import few_or_many, run_property

import calirare as cr
from calirare.errors import CalirareError, ModelFormatError
from calirare.estimator.methods import get_method, temporarily
from calirare.persistence.folder import header_checksum, load_graph, model_version

pytestmark = pytest.mark.usefixtures("quick_networks_here")

few_or_thousands = few_or_many(10, 600)
GCN = cr.detectors.GCN
QUICK = GCN(epochs=3, hidden=2, weight_decay=0.05)
METHODS = ("jackknife", "temperature", "isotonic", "vector", "gats", "cagcn", "uncalibrated")
MODELS = {
    **{method: (QUICK, method) for method in METHODS},
    "folds": (GCN(epochs=3, hidden=2, weight_decay=1e-4), "jackknife"),
    "linear": ("linear", "jackknife"),
    "forest": (cr.detectors.Forest(trees=3), "jackknife"),
    "boosting": (cr.detectors.Boosting(rounds=4), "jackknife"),
    "sparse": (cr.detectors.Sparse(steps=10), "jackknife"),
    "stack": (cr.detectors.Stack(["linear", QUICK]), "jackknife"),
}
WITH_ARRAYS = ("jackknife", "linear", "forest", "boosting", "sparse", "stack", "folds")
QUICKLY_MADE = ("jackknife", "linear", "forest", "boosting", "sparse", "stack")
odd_values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([2**31, 2**63, 10**30, -1, 1e308, float("nan"), float("inf")]),
    st.text(max_size=4), st.lists(st.integers(-2, 2), max_size=3), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from(["gat", "temperature", "balanced", "cuda", "../x", "a torch.nn.Module", "fit", "cross_fit"]),
)  # fmt: skip


@pytest.fixture(scope="module")
def graph():
    return cr.make_transactions(num_nodes=60, rare_share=0.3, labelled_share=0.7, seed=0)


@pytest.fixture(scope="module")
def saved(graph, tmp_path_factory):
    """A saved model of a kind, with what it answers; made when it is first asked for."""

    @cache
    def make(name):
        detector, method = MODELS[name]
        known = get_method(method)
        if method in ("gats", "cagcn"):  # networks of their own, which need not be trained to the end here
            known = replace(known, calibrator=partial(known.calibrator, epochs=5))
        with temporarily(known):
            clf = cr.RareCategoryClassifier(detector, method, device="cpu").fit(graph)
        folder = tmp_path_factory.mktemp(name)
        clf.save(folder, graph)
        return folder, clf.predict_proba(graph), clf.predict_interval(graph).upper

    return make


def ask(folder, graph):
    """All that a folder is read for; None where it was refused by one of our errors."""
    try:
        model_version(folder)
        clf, own = cr.load(folder), load_graph(folder)
        return (
            clf.predict_proba(graph),
            clf.predict_interval(graph).upper,
            own,
            clf.predict_set(graph),
            clf.explain(graph, 0),
            clf.jackknife_interval(graph),
        )
    except CalirareError as error:
        assert str(error) and "\n" not in str(error)
        return None


@few_or_thousands
def test_damaged_bytes_are_refused_or_change_nothing(examples, saved, graph, tmp_path):
    folder, probabilities, upper = saved("jackknife")
    files = sorted(folder.iterdir())

    def damaged(data):
        broken = tmp_path / "model"
        shutil.copytree(folder, broken, dirs_exist_ok=True)
        file = broken / data.draw(st.sampled_from([file.name for file in files]))
        content = bytearray(file.read_bytes())
        if data.draw(st.integers(0, 3)) == 0:
            del content[data.draw(st.integers(0, len(content))) :]
        for _ in range(data.draw(st.integers(0, 3))):
            if content:
                content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        file.write_bytes(bytes(content))
        answer = ask(broken, graph)
        if answer is not None:
            np.testing.assert_array_equal(answer[0], probabilities)
            np.testing.assert_array_equal(answer[1], upper)
            np.testing.assert_array_equal(answer[2].y, graph.y)

    run_property(examples, damaged, data=st.data())


@few_or_thousands
def test_edited_json_with_a_fitting_checksum_is_refused_or_answers(examples, saved, graph, tmp_path):
    """An editor who knows the checksum may change the model, but can neither crash it nor make it talk nonsense."""

    def edited(model, data):
        folder = saved(model)[0]
        broken = tmp_path / model
        shutil.copytree(folder, broken, dirs_exist_ok=True)
        header = json.loads((folder / "model.json").read_text())
        header.pop("checksum")
        for _ in range(data.draw(st.integers(1, 2))):
            path = data.draw(st.sampled_from(sorted(paths_of(header), key=str)))
            header = replaced(header, path, data.draw(odd_values), remove=data.draw(st.booleans()))
        (broken / "model.json").write_text(json.dumps(header | {"checksum": header_checksum(header)}))
        answer = ask(broken, graph)
        if answer is not None:
            for p in answer[:2]:
                assert np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all()
            np.testing.assert_allclose(answer[0].sum(axis=1), 1, atol=1e-9)

    run_property(
        examples, edited, model=st.sampled_from(QUICKLY_MADE if examples < 100 else sorted(MODELS)), data=st.data()
    )


@few_or_thousands
def test_edited_arrays_with_a_fitting_checksum_are_refused_or_answer(examples, saved, graph, tmp_path):
    from hashlib import sha256

    from safetensors.numpy import load, save

    def edited(model, data, change, place, value):
        folder = saved(model)[0]
        header = json.loads((folder / "model.json").read_text())
        arrays = copy.deepcopy(load(next(folder.glob("arrays-*")).read_bytes()))
        broken = tmp_path / "model"
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(folder, broken)
        name = data.draw(st.sampled_from(sorted(arrays)))
        array = arrays.pop(name)
        if change == "value" and array.size:
            with np.errstate(all="ignore"):
                array.reshape(-1)[place % array.size] = np.array(value).astype(array.dtype)
        if change == "shape":
            array = array[..., None]
        if change == "short":
            array = array[:-1]
        if change == "type":
            array = array.astype(np.int8)
        if change != "remove":
            arrays[name] = np.ascontiguousarray(array)
        content = save(arrays)
        said = copy.deepcopy(header)
        said["arrays"] = {"file": "arrays-edited.safetensors", "sha256": sha256(content).hexdigest()}
        (broken / "arrays-edited.safetensors").write_bytes(content)
        (broken / "model.json").write_text(json.dumps(said | {"checksum": header_checksum(said)}))
        answer = ask(broken, graph)
        if answer is not None:
            for p in answer[:2]:
                assert np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all()

    run_property(
        examples,
        edited,
        model=st.sampled_from(QUICKLY_MADE if examples < 100 else WITH_ARRAYS),
        data=st.data(),
        change=st.sampled_from(["value", "value", "shape", "short", "type", "remove"]),
        place=st.integers(0, 10**6),
        value=st.sampled_from([-1.0, 1e4, 1e38, np.nan, np.inf, 0.0]),
    )


@pytest.mark.parametrize(
    ("hidden", "says"),
    [(100_000, "do not fit the weights"), (10**12, "at most 100,000")],  # the second were terabytes
)
def test_a_model_larger_than_its_weights_is_not_built(saved, tmp_path, hidden, says):
    broken = tmp_path / "model"
    shutil.copytree(saved("jackknife")[0], broken)
    header = json.loads((broken / "model.json").read_text())
    header["arguments"]["detector"]["parameters"]["hidden"] = hidden
    (broken / "model.json").write_text(json.dumps(header | {"checksum": header_checksum(header)}))
    with pytest.raises(ModelFormatError, match=says):
        cr.load(broken)


def test_another_method_of_an_object_cannot_be_replaced(saved, tmp_path):
    broken = tmp_path / "model"
    shutil.copytree(saved("jackknife")[0], broken)
    header = json.loads((broken / "model.json").read_text())
    header["calibrator"]["predict_proba"] = 1
    (broken / "model.json").write_text(json.dumps(header | {"checksum": header_checksum(header)}))
    with pytest.raises(ModelFormatError, match="no 'predict_proba'"):
        cr.load(broken)


def test_one_flipped_digit_in_the_json_is_found(saved, tmp_path):
    broken = tmp_path / "model"
    shutil.copytree(saved("temperature")[0], broken)
    text = (broken / "model.json").read_text()
    (broken / "model.json").write_text(text.replace('"rare_class": 1', '"rare_class": 0'))
    with pytest.raises(ModelFormatError, match="checksum differs"):
        cr.load(broken)
