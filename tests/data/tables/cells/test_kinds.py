"""What a column is, by its type, its values and its name."""

import datetime

import numpy as np
import polars as pl
import pytest

from calirare.data.tables.cells.columns import to_numbers, to_seconds
from calirare.data.tables.cells.kinds import kind_of
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.reading import read_tables

WIDTHS = (
    pl.Int8,
    pl.UInt8,
    pl.Int16,
    pl.UInt16,
    pl.Int32,
    pl.UInt32,
    pl.Int64,
    pl.UInt64,
    pl.Float32,
    pl.Decimal(9, 2),
)


@pytest.mark.parametrize("width", WIDTHS, ids=str)
def test_numbers_of_every_width_are_read(width):
    phase = pl.Series("phase", [k % 3 for k in range(60)]).cast(width)
    assert kind_of(phase).name == "number"
    nodes = pl.DataFrame({"id": range(60), "phase": phase, "bad": [k % 5 == 0 for k in range(60)]})
    edges = pl.DataFrame({"source": range(60), "target": [(k + 1) % 60 for k in range(60)], "phase": phase})
    graph = read_tables(nodes, edges, label="bad", rare="true")
    column = next(one for one in graph.edges.columns if one.name == "phase")
    np.testing.assert_array_equal(column.values, phase.cast(pl.Float64).to_numpy())


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S"])
@pytest.mark.parametrize("kind", [pl.String, pl.Int64])
def test_moments_in_digits_alone_are_moments(form, kind):
    moments = [datetime.datetime(2024, 1, 31, 18, 5, 7) + k * datetime.timedelta(days=1.7) for k in range(30)]
    column = pl.Series("START", [moment.strftime(form) for moment in moments]).cast(kind)
    found = kind_of(column)
    assert found.name == "time" and found.style == {"date": form}
    back = [datetime.datetime.strptime(moment.strftime(form), form) for moment in moments]
    epoch = datetime.datetime(1970, 1, 1)
    assert to_seconds(column, found.style).tolist() == [(moment - epoch).total_seconds() for moment in back]
    assert to_numbers(column, found.style)[0] == pytest.approx((back[0] - epoch).total_seconds() / 86_400)


def test_whole_numbers_that_are_no_dates_stay_numbers():
    for least in (20_240_100, 20_240_131_180_000):  # the 0th of January, and no 60th minute
        assert kind_of(pl.Series("n", [least + 7 * k for k in range(60)] * 2)).name == "number"
    for first in (202_401_310_001, 20_240_131_000_001):  # the first, the second, … of a day
        assert kind_of(pl.Series("n", [first + k for k in range(40)] * 2)).name == "number"


def test_dates_in_digits_may_have_gaps():
    for gap in (None, float("nan")):
        found = kind_of(pl.Series("n", [*(20_240_101.0 + k for k in range(30)), gap]))
        assert (found.name, found.style) == ("time", {"date": "%Y%m%d"})


def test_spans_are_told_in_days():
    spans = pl.Series("dur", [datetime.timedelta(hours=6 * k) for k in range(30)])
    nodes = pl.DataFrame({"id": range(30), "dur": spans, "bad": [k % 5 == 0 for k in range(30)]})
    graph = read_tables(nodes, {"source": [0], "target": [1]}, label="bad", rare="true")
    assert graph.schema["columns"][0]["median"] == 0.25 * 14.5
    told = next(row for row in describe_schema(graph.schema) if row["column"] == "dur")
    assert told["treatment"].endswith(", in days")
    again = read_tables(nodes, {"source": [0], "target": [1]}, schema=graph.schema)
    np.testing.assert_array_equal(again.x, graph.x)
