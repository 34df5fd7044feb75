"""One class written in several ways."""

import polars as pl
import pytest

from calirare.data.tables.describe import describe_schema
from calirare.data.tables.reading import read_tables
from calirare.errors import LabelError


def read(labels, **said):
    nodes = {"id": range(len(labels)), "x": range(len(labels)), "y": labels}
    return read_tables(nodes, {"source": [0], "target": [1]}, **(said or {"label": "y", "rare": "yes"}))


@pytest.mark.parametrize(
    ("labels", "rare", "y", "values"),
    [
        (["yes", "No", "1", "TRUE", "0", None, "no", "No"], "yes", [1, 0, 1, 1, 0, -1, 0, 0], ["No", "yes"]),
        (["Fraud", "fraud ", "FRAUD", "ok", "odd  one", "Odd One"], "fraud", [1, 1, 1, 0, 0, 0], ["Odd One", "fraud", "ok"]),
        (["BETRUG", "Betrug", "Betrug", "ok"], "betrug", [1, 1, 1, 0], ["Betrug", "ok"]),
        (["Yes", "no", "no"], "1", [1, 0, 0], ["Yes", "no"]),
        (["0", "1", "2", "yes"], 1, [0, 1, 0, 0], ["0", "1", "2", "yes"]),  # not all say true or false
        (["t", "f", "n", "n"], "f", [0, 1, 0, 0], ["f", "n", "t"]),  # codes
    ],
)  # fmt: skip
def test_spellings_of_one_class_are_one_class(labels, rare, y, values):
    graph = read(labels, label="y", rare=rare)
    assert graph.y.tolist() == y
    assert graph.schema["label"]["values"] == values
    assert read(labels, schema=graph.schema).y.tolist() == y


def test_what_was_read_as_another_word_is_counted_and_the_other_classes_are_named(caplog):
    graph = read(["yes", "no", "no", "TRUE", "TRUE", "False"])
    assert graph.schema["read"]["labels"]["spellings"] == {
        "False": {"class": "no", "count": 1},
        "TRUE": {"class": "yes", "count": 2},
    }
    assert "'TRUE' (2) as 'yes'" in caplog.text
    label = next(row for row in describe_schema(graph.schema) if row["type"] == "label")
    assert label["treatment"] == "'yes' is rare; 'no' is not; empty: unknown"


def test_a_model_knows_spellings_that_its_fit_never_met(caplog):
    schema = read(["yes", "no"]).schema
    assert read(["YES", "0", "maybe", None], schema=schema).y.tolist() == [1, 0, -1, -1]
    assert "'maybe'" in caplog.text


def test_classes_that_an_earlier_version_told_apart_stay_apart():
    schema = read(["yes", "no"]).schema
    old = {**schema, "label": {"column": "y", "rare": "yes", "values": ["1", "Yes", "no", "yes"]}}
    assert read(["yes", "Yes", "1", "YES", "NO"], schema=old).y.tolist() == [1, 0, 0, -1, 0]


@pytest.mark.parametrize(
    ("labels", "rare"),
    [
        (["unknown", "ok", "ok"], "Unknown"),
        (["NA", "ok", "ok"], " na "),
        ([0, 1, -1], -1.0),
        ([0, 1, -1], "-1.0"),
        ([1.0, 0.0, None], "1"),
        (["1.0", "0.0", ""], 1),
        (["Yes", "No", "No"], "yes"),
        (["1", "0", "0"], True),
        ([True, False, False], "1.0"),
    ],
)
def test_the_rare_class_may_be_spelled_as_a_label_may(labels, rare):
    nodes = {"id": range(len(labels)), "age": [1, 2, 3], "label": pl.Series(labels)}
    graph = read_tables(nodes, {"source": [0], "target": [1]}, label="label", rare=rare)
    assert graph.y[0 if str(rare)[0] != "-" else 2] == graph.rare_class and (graph.y == graph.rare_class).sum() == 1
    again = read_tables({**nodes, "label": pl.Series(labels).cast(pl.String).str.to_uppercase()}, {"source": [0], "target": [1]},
                        schema=graph.schema)  # fmt: skip
    assert again.y.tolist() == graph.y.tolist()


@pytest.mark.parametrize("rare", ["", [1], float("nan"), object()])
def test_a_rare_class_that_is_no_value_is_refused(rare):
    nodes = {"id": [0, 1], "age": [1, 2], "label": ["a", "b"]}
    with pytest.raises(LabelError, match="rare must be one of the values"):
        read_tables(nodes, {"source": [0], "target": [1]}, label="label", rare=rare)
