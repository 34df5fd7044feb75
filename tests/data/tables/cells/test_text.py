"""Text that means numbers, dates or yes and no; ids and labels as they are written."""

import datetime
import logging
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calirare.data.tables.cells.columns import to_numbers, to_seconds
from calirare.data.tables.cells.kinds import kind_of
from calirare.data.tables.cells.text import read_styled, understand
from calirare.data.tables.reading import read_tables
from calirare.errors import InputError, LabelError


def numbers(*texts):
    column = pl.Series("c", texts, dtype=pl.String)
    found = understand(column)
    assert found.kind == "number", found
    return to_numbers(column, found.style).tolist()


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1.234,56", "7,5", "-1.000"], [1234.56, 7.5, -1000.0]),
        (["1,234.56", "7.5", "-1,000"], [1234.56, 7.5, -1000.0]),
        (["$1,234.50", "$ 7", "($3.25)"], [1234.5, 7.0, -3.25]),
        (["1.234,50-", "7,5", "3,00- EUR"], [-1234.5, 7.5, -3.0]),
        (["12.50-", "3"], [-12.5, 3.0]),
        (["1 234,5 kr", "12 kr"], [1234.5, 12.0]),
        (["€ 1.234.567", "€ 2"], [1234567.0, 2.0]),
        (["EUR 3,50", "12,00 EUR"], [3.5, 12.0]),
        (["1'234.5", "2’000"], [1234.5, 2000.0]),
        (["12 %", "3.5%", "100%"], [0.12, 0.035, 1.0]),
        (["1e3", "-2.5E-2", "+4"], [1000.0, -0.025, 4.0]),
        ([",5", "0,25"], [0.5, 0.25]),
        (["12.3K", "532", "1.5M", "2k"], [12300.0, 532.0, 1.5e6, 2000.0]),
        (["$1.2bn", "$-3.5M", "€7K", "(2K)"], [1.2e9, -3.5e6, 7000.0, -2000.0]),
        (["1,2 Mio. €", "3 Mrd. €", "1.200,5"], [1.2e6, 3e9, 1200.5]),
        (["253 MB", "1.5 GB", "7 MB", "12kb"], [253.0, 1500.0, 7.0, 0.012]),
        (["3,5 kg", "1.200 kg", "7 kg"], [3.5, 1200.0, 7.0]),
        (["1 day", "3 days", "2 weeks", "14 days"], [1.0, 3.0, 14.0, 14.0]),
        (["12 points", "-3 points", "1,000 points"], [12.0, -3.0, 1000.0]),
        (["<0.5", "1.5", "~2", "7"], [0.5, 1.5, 2.0, 7.0]),
        (["−5", "12", "–3"], [-5.0, 12.0, -3.0]),
        (["R$ 1.234,56", "R$ 7,50"], [1234.56, 7.5]),
        (["1 234,56 zł", "7 zł"], [1234.56, 7.0]),
        (["A$1,250.50", "₺7"], [1250.5, 7.0]),
        (["+12 345 678", "+4"], [12345678.0, 4.0]),
        (["３１", "－４", "２．５"], [31.0, -4.0, 2.5]),
        (["￥1,234", "２，３４５円", "12万円"], [1234.0, 2345.0, 120_000.0]),
        (["٣٫٥", "١٢"], [3.5, 12.0]),
        (["4.3 / 5", "4 / 5", "3.5/5"], [4.3, 4.0, 3.5]),
        (["3.90", "3.10", "12.50"], [3.9, 3.1, 12.5]),
        (["3.9", "10.0", "2.25"], [3.9, 10.0, 2.25]),
        (["0.5", "1.00", "2"], [0.5, 1.0, 2.0]),
        (["0.5", "0.05", "0.10"], [0.5, 0.05, 0.1]),
    ],
)
def test_numbers_as_people_write_them(texts, values):
    assert numbers(*texts) == pytest.approx(values, rel=1e-15)


@pytest.mark.parametrize(
    "texts",
    [
        ["+49 151 2345678", "+49 30 123456"],
        ["+1 (555) 010-9999"],
        ["<10", ">10", "<20"],
        ["12 kg", "3 km"],
        ["12A", "14A"],
        ["3 km away", "7 km away"],
        ["10-20", "20-30"],
        ["3.9", "3.10", "3.11"],
        ["3.1", "3.10", "n/a"],
        ["132/85", "120/80"],
        ["1/2", "3/4"],
        ["3/12", "24/12"],
        ["10/2024", "11/2024"],
    ],
)
def test_what_would_lose_its_meaning_as_a_number_stays_words(texts):
    assert understand(pl.Series(texts)).kind == "words"


def test_the_end_of_a_scale_that_most_reach_is_a_number():
    """Filtration of kidneys: most are ">90", the ill have a number."""
    texts = [*map(str, range(30, 90)), *[">90"] * 140]
    assert numbers(*texts) == [*range(30, 90), *[90.0] * 140]


def test_numbers_with_a_unit_are_read_in_that_of_the_fit():
    """Later tables may be in another unit of the family, or in none."""
    style = understand(pl.Series(["90 min", "30 min", "2 h"])).style
    assert style == {"unit": "min|h"}
    assert to_numbers(pl.Series(["1.5 h", "45", "soon"] + ["1 H"] * 200), style)[:2].tolist() == [90.0, 45.0]


@pytest.mark.parametrize("write", [int, str, float])
def test_days_as_databases_write_them_are_dates(write):
    days = [datetime.date(2023, 12, 20) + datetime.timedelta(days=k) for k in range(40)]
    column = pl.Series("booked", [write(f"{day:%Y%m%d}") for day in days])
    found = kind_of(column)
    assert (found.name, found.style) == ("time", {"date": "%Y%m%d"})
    assert np.diff(to_seconds(column, found.style)).tolist() == [86_400.0] * 39
    assert kind_of(pl.Series("size", [20_231_200 + 7 * k for k in range(40)])).name != "time"


@pytest.mark.parametrize("name", ["joined", "last_login", "dateOpened", "account_closed"])
def test_seconds_under_the_name_of_an_event_are_moments_and_no_identifiers(name):
    assert kind_of(pl.Series(name, range(1_500_000_000, 1_600_000_000, 1_000_000))).name == "time"
    assert kind_of(pl.Series(name, range(0, 1_000, 7))).name == "number"


@pytest.mark.parametrize(
    "form", ["{:02x}:5e:00:10:af:{:02x}", "{:02X}-5E-00-10-AF-{:02X}", "fe80::{:x}:{:x}", "2001:db8:0:0:1:0:{:x}:{:x}"]
)
def test_addresses_of_cards_and_of_the_new_internet_are_known(form):
    hosts = pl.Series("address", [form.format(k // 20, k % 20) for k in range(300)])
    assert (kind_of(hosts).name, kind_of(hosts).style) == ("text", {"form": "host"})


def test_three_numbers_between_colons_are_no_addresses():
    places = pl.Series("place", [f"{k % 7}:{1000 + k}:{k % 11}" for k in range(300)] * 4)
    assert kind_of(places).name == "category"


def test_two_numbers_in_a_cell_are_told_apart_from_names():
    pressure = pl.Series("pressure", [f"{110 + k % 50}/{60 + k // 12}" for k in range(300)])
    assert kind_of(pressure).reason == "two numbers in each cell, such as '110/60': give each a column of its own"


def test_a_mark_out_of_another_whole_is_not_read_as_one():
    assert to_numbers(pl.Series("mark", ["4 / 5"] * 200 + ["7 / 10"]), {"unit": "/ 5"})[-2:].tolist() == pytest.approx(
        [4.0, math.nan], nan_ok=True
    )


@pytest.mark.parametrize("name", ["version", "os_version", "agentVersion", "Firmware"])
def test_decimals_under_the_name_of_a_version_are_categories(name):
    texts = pl.Series(name, ["1.2", "1.3", "2.0"] * 40)
    assert kind_of(texts).name == "category" and kind_of(texts.alias("dose")).name == "number"
    assert kind_of(pl.Series(name, ["1", "2", "3"] * 40)).name == "number"
    assert kind_of(pl.Series(name, ["2024.1.3", "2023.2.1", "n/a"] * 40)).name == "category"
    assert kind_of(pl.Series(name, ["2024.01.03", "2023.02.11"] * 40)).name == "time"
    amounts = np.random.default_rng(0).gamma(2, 30, 300)
    assert kind_of(pl.Series(name, [f"{amount:.2f}" for amount in amounts])).name == "number"


def test_points_group_thousands_where_another_column_has_decimal_commas():
    pay = [f"{1_250 + 371 * k:,}".replace(",", ".") for k in range(30)]
    nodes = {"id": list(range(30)), "pay": pay, "share": [f"{k},5" for k in range(30)], "bad": ["yes", "no"] * 15}
    edges = {"source": [0], "target": [1], "fee": ["1.250"], "tax": ["0,5"]}
    graph = read_tables(nodes, edges, label="bad", rare="yes")
    assert graph.schema["columns"][0]["median"] == 1_250 + 371 * 14.5
    assert [column.values.tolist() for column in graph.edges.columns] == [[1250.0], [0.5]]
    alone = read_tables({name: nodes[name] for name in ("id", "pay", "bad")}, edges, label="bad", rare="yes")
    assert alone.schema["columns"][0]["median"] == pytest.approx(1.250 + 0.371 * 14.5)


def test_addresses_of_hosts_are_no_dates():
    hosts = pl.Series("ip", [f"10.0.{k // 9}.{k % 250}" for k in range(300)])
    assert (kind_of(hosts).name, kind_of(hosts).style) == ("text", {"form": "host"})


@given(
    values=st.lists(st.integers(-(10**9), 10**9).map(lambda k: k / 100), min_size=3, max_size=20),
    comma=st.booleans(),
    sign=st.sampled_from(["", "$", "€ "]),
)
def test_grouped_numbers_come_back_in_both_conventions(values, comma, sign):
    texts = [sign + f"{value:,.2f}" for value in values]
    if comma:
        texts = [text.translate(str.maketrans(",.", ".,")) for text in texts]
    assert numbers(*texts) == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize(
    ("texts", "moments"),
    [
        (["2024-01-31", "2024-01-31 18:05", "2024-01-31T18:05:09.5Z"], [(31, 0, 0, 0), (31, 18, 5, 0), (31, 18, 5, 9.5)]),
        (["31.01.2024 18:05:09", "01.01.2024"], [(31, 18, 5, 9), (1, 0, 0, 0)]),
        (["01/31/2024", "01/02/2024 6:05 PM"], [(31, 0, 0, 0), (2, 18, 5, 0)]),
        (["31/01/2024", "02/01/2024"], [(31, 0, 0, 0), (2, 0, 0, 0)]),
        (["31-Jan-2024", "2-Jan-2024"], [(31, 0, 0, 0), (2, 0, 0, 0)]),
        (["31/01/2024 à 18h05", "02/01/2024 à 04h07"], [(31, 18, 5, 0), (2, 4, 7, 0)]),
        (["31/01/2024 às 18h05", "02/01/2024 às 9h"], [(31, 18, 5, 0), (2, 9, 0, 0)]),
        (["31.01.2024, 18:05 Uhr", "2.1.2024 um 8 Uhr"], [(31, 18, 5, 0), (2, 8, 0, 0)]),
        (["1/31/2024, 6:05:09 PM", "1/2/2024, 12:00:00\u202fAM"], [(31, 18, 5, 9), (2, 0, 0, 0)]),
        (["Jan 31, 2024, 6:05 PM", "Jan 2, 2024 at 9:00 AM"], [(31, 18, 5, 0), (2, 9, 0, 0)]),
        (["2024年1月31日", "2024年1月2日 18時05分09秒", "２０２４年１月２日 9:05"], [(31, 0, 0, 0), (2, 18, 5, 9), (2, 9, 5, 0)]),
        (["2024년 1월 31일", "2024년 1월 2일"], [(31, 0, 0, 0), (2, 0, 0, 0)]),
        (["January 31, 2024", "January 2, 2024"], [(31, 0, 0, 0), (2, 0, 0, 0)]),
        (["2024-01-31 20:05:00+02:00"], [(31, 18, 5, 0)]),
        (["31.01.24"], [(31, 0, 0, 0)]),
        (["31. Januar 2024", "2. Januar 2024 18:05"], [(31, 0, 0, 0), (2, 18, 5, 0)]),
        (["Wed Jan 31 2024", "Tue Jan 2 2024"], [(31, 0, 0, 0), (2, 0, 0, 0)]),
        (["Mi., 31. Jan. 2024", "Di., 2. Jan. 2024"], [(31, 0, 0, 0), (2, 0, 0, 0)]),
        (["31 janvier 2024", "2 janvier 2024"], [(31, 0, 0, 0), (2, 0, 0, 0)]),
        (["2024-01-31", "30.01.2024", "29/01/2024", "02.01.2024 18:05"], [(31, 0, 0, 0), (30, 0, 0, 0), (29, 0, 0, 0), (2, 18, 5, 0)]),
    ],
)  # fmt: skip
def test_dates_keep_their_time_of_day(texts, moments):
    column = pl.Series("c", texts)
    kind = kind_of(column)
    assert kind.name == "time"
    expected = [
        datetime.datetime(2024, 1, day, hour, minute, tzinfo=datetime.UTC).timestamp() + second
        for day, hour, minute, second in moments
    ]
    assert to_seconds(column, kind.style).tolist() == expected
    np.testing.assert_allclose(to_numbers(column, kind.style), np.array(expected) / 86400, rtol=1e-14)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["yes", "No"], "truth"), (["TRUE", "false"], "truth"), (["NO", "SE"], "words"), (["no", "no"], "words"),
        (["007", "12"], "words"), (["+4790123456", "+4790123457"], "words"), (["1.2.3", "4.5.6"], "words"),
        (["1", "x"], "words"), (["", "NA"], "words"), (["1,2,3"], "words"), (["12:30", "12:75"], "words"),
        (["31.02.2024"], "words"), (["31/12/2024", "12/31/2024"], "words"), (["1", "#REF!", "2"], "number"),
    ],
)  # fmt: skip
def test_what_is_and_what_is_not_understood(texts, kind):
    assert understand(pl.Series(texts)).kind == kind


@given(texts=st.lists(st.text(alphabet="0123456789.,-+eE%$€() /:TZaJnM#", max_size=12), min_size=1, max_size=8))
def test_any_text_is_read_or_left_alone(texts):
    column = pl.Series("c", texts)
    found = understand(column)
    values, strange = read_styled(column, found.style)
    assert values.len() == len(texts) and strange.len() <= len(texts)
    if found.kind == "number":
        assert all(value is None or not math.isnan(value) for value in values.to_list())


EDGES = {"source": ["1"], "target": ["2"]}


def test_one_bad_cell_warns_and_stays_missing(caplog):
    n = 5000
    amount = [f"{k / 7:.2f}" for k in range(n)]
    amount[1234] = "#REF!"
    nodes = {"id": [str(k) for k in range(n)], "amount": amount, "y": [str(k % 2) for k in range(n)]}
    with caplog.at_level(logging.WARNING):
        graph = read_tables(nodes, EDGES, label="y", rare=1)
    assert "column 'amount': 1 of 5000 values cannot be read, such as '#REF!'" in caplog.text
    assert graph.feature_names == ("amount", "amount is missing") and graph.x[:, 1].nonzero()[0].tolist() == [1234]
    assert graph.schema["read"]["unreadable"] == {"amount": 1} and graph.schema["read"]["imputed"] == {"amount": 1}
    nodes["amount"] = ["word"] * 100 + amount[100:]
    with pytest.raises(InputError, match="column 'amount' must hold numbers; 100 values are words"):
        read_tables(nodes, EDGES, schema=graph.schema)


HUGE = [str(2**63), str(2**63 + 1), "123456789012345678901234", "123456789012345678901235", "10e5", "1000000", "007", "7",
        "0x1F", "1_000", " 1", "NaN?"]  # fmt: skip


def test_ids_in_a_csv_keep_their_bytes(tmp_path):
    rows = "\n".join(f"{name},{k % 2},{k}" for k, name in enumerate(HUGE))
    (tmp_path / "nodes.csv").write_text(f"id,y,x\n{rows}\n", encoding="utf-8")
    edges = "\n".join(f"{one},{other}" for one, other in zip(HUGE[:-1], HUGE[1:], strict=True))
    (tmp_path / "edges.csv").write_text(f"source,target\n{edges}\n", encoding="utf-8")
    graph = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", label="y", rare=1)
    assert graph.ids.tolist() == HUGE
    assert graph.edges.source.tolist() == list(range(len(HUGE) - 1))
    assert graph.edges.target.tolist() == list(range(1, len(HUGE)))
    typed = pl.DataFrame({"id": [2**63 + 5, 2**63 + 7], "x": [1, 2], "y": [0, 1]}, schema_overrides={"id": pl.UInt64})
    typed.write_parquet(tmp_path / "nodes.parquet")
    ends = {"source": pl.Series([2**63 + 7], dtype=pl.UInt64), "target": pl.Series([2**63 + 5], dtype=pl.UInt64)}
    graph = read_tables(tmp_path / "nodes.parquet", ends, label="y", rare=1)
    assert graph.ids.tolist() == [str(2**63 + 5), str(2**63 + 7)] and graph.edges.source.tolist() == [1]


def test_ids_that_are_no_names_are_refused():
    with pytest.raises(InputError, match="1 ids are missing"):
        read_tables({"id": [1.0, float("nan")], "x": [1, 2], "y": [0, 1]}, EDGES, label="y", rare=1)
    with pytest.raises(InputError, match="have lost digits"):
        read_tables({"id": [1.0, 1e19], "x": [1, 2], "y": [0, 1]}, EDGES, label="y", rare=1)


@pytest.mark.parametrize("word", ["NA", "nan", "NULL", "None", "n/a", ""])
@pytest.mark.parametrize("kind", ["csv", "frame", "numbers"])
def test_words_for_a_missing_label_count_as_missing_whatever_the_type(word, kind, tmp_path, caplog):
    labels = ["1", "0", word, "0"] if kind != "frame" else ["yes", "no", word, "no"]
    nodes = {"id": ["1", "2", "3", "4"], "x": [1.5, 2.0, 3.0, 4.0], "y": labels}
    if kind == "csv":
        pl.DataFrame(nodes).write_csv(tmp_path / "nodes.csv")
    with caplog.at_level(logging.WARNING):
        graph = read_tables(
            tmp_path / "nodes.csv" if kind == "csv" else nodes, EDGES, label="y", rare="yes" if kind == "frame" else 1
        )
    assert graph.y.tolist() == [1, 0, -1, 0]
    counts = {word: 1} if word else {}
    assert graph.schema["read"]["labels"] == {"known": 3, "missing": 1, "missing_words": counts, "spellings": {}}
    assert ("1 labels count as unknown" in caplog.text) == bool(word)


@pytest.mark.parametrize("place", ["id", "y", "rare", "name", "edges"])
def test_half_characters_are_refused(place):
    """As a terminal in another encoding passes them on."""
    half = "\udcff"
    nodes = {"id": ["1", half if place == "id" else "2"], "x": [1.5, 2.0], "y": ["a", half if place == "y" else "b"]}
    nodes |= {half: [1, 2]} if place == "name" else {}
    edges = {"source": ["1"], "target": [half]} if place == "edges" else EDGES
    with pytest.raises(InputError, match="surrogates|rare must be"):
        read_tables(nodes, edges, label="y", rare=half if place == "rare" else "a")


def test_a_class_called_none_is_explained():
    nodes = {"id": ["1", "2"], "x": [1.5, 2.0], "y": ["mule", "none"]}
    with pytest.raises(
        LabelError, match="every labelled node is 'mule'.*'none' counts as unknown. If 'none' says .* write 'no'"
    ):
        read_tables(nodes, EDGES, label="y", rare="mule")


def test_dates_at_odds_are_called_dates():
    days = [f"{day}/{month}/20{year}" for year in range(10, 17) for day, month in ((20, 5), (5, 20))]
    kind = kind_of(pl.Series("when", [*days, *(f"{day}.1.3" for day in range(5))]), most_categories=5)
    assert kind.name == "ignore" and kind.reason.startswith("dates in no form that fits all, such as ")


def test_names_of_things_are_no_numbers():
    rows = np.arange(100)
    assert "row numbers" in kind_of(pl.Series("n", rows)).reason
    for name in ("rank", "risk_score", "worldRanking"):  # a number for each row, yet what matters
        assert kind_of(pl.Series(name, rows[::-1])).name == "number"
    assert "identifier" in kind_of(pl.Series("customerId", rows * 17)).reason
    assert "9 digits" in kind_of(pl.Series("phone", 900_000_000 + rows * 997)).reason
    assert kind_of(pl.Series("balance", rows * 997)).name == "number"
    assert kind_of(pl.Series("created_at", 1_700_000_000 + rows * 60)).name == "time"
    assert kind_of(pl.Series("created_at", (1_700_000_000 + rows * 60) * 1000)).unit == 1e-3
    assert kind_of(pl.Series("response_time", rows * 3)).name == "number"
    assert kind_of(pl.Series("time", rows)).name == "time"
    nodes = {"id": rows, "customer_nr": rows * 7, "x": rows % 10, "y": rows % 2}
    graph = read_tables(nodes, {"source": [0], "target": [1]}, label="y", rare=1)
    assert graph.feature_names == ("x",)
    told = read_tables(nodes, {"source": [0], "target": [1]}, label="y", rare=1, types={"customer_nr": "numeric"})
    assert told.feature_names == ("customer_nr", "x")


@pytest.mark.parametrize(
    ("texts", "hours"),
    [
        (["09:30", "23:00", "0:15"], [9.5, 23.0, 0.25]),
        (["12:00 AM", "12:30 pm", "6:45 PM"], [0.0, 12.5, 18.75]),
        (["00:00:36", "36:00:00", None], [0.01, 36.0, None]),
        (["1h 30m", "45m", "2h", None], [1.5, 0.75, 2.0, None]),
        (["2d 6h", "12h 36 min"], [54.0, 12.6]),
        (["PT1H30M", "PT36S"], [1.5, 0.01]),
    ],
)
def test_times_of_day_are_hours(texts, hours):
    column = pl.Series("local_time", texts)
    found = kind_of(column)
    assert found.name == "number" and found.style == {"clock": True}
    np.testing.assert_allclose(to_numbers(column, found.style), [np.nan if h is None else h for h in hours])
    clock = pl.Series("local_time", [datetime.time(9, 30)])  # in a file that holds times as such
    assert kind_of(clock) == found and to_numbers(clock, found.style).tolist() == [9.5]


def test_a_moment_in_milliseconds_is_no_identifier():
    values = np.arange(1_700_000_000_000, 1_700_000_900_000, 9_000)
    assert kind_of(pl.Series("start_ms", values)).name == "time"
    unsaid = kind_of(pl.Series("what", values))
    assert unsaid.name == "ignore" and "--type what=time" in unsaid.reason
    edges = {"source": [1] * 100, "target": [2] * 100, "what": values}
    nodes = {"id": [1, 2], "bad": ["y", "n"]}
    graph = read_tables(nodes, edges, label="bad", rare="y", types={"what": "time"})
    assert graph.edges.columns[0].values[0] == 1_700_000_000  # in seconds


def test_ones_and_zeros_beside_gaps_are_the_labels_1_and_0(tmp_path):
    edges = {"source": [1, 2], "target": [2, 3]}
    (tmp_path / "nodes.csv").write_text("id,bad\n1,1.0\n2,0.0\n3,\n")
    for rare in ("1", 1, "1.0"):
        graph = read_tables(tmp_path / "nodes.csv", edges, label="bad", rare=rare)
        assert graph.y.tolist() == [1, 0, -1] and graph.class_names == ("0", "1")
    (tmp_path / "later.csv").write_text("id,bad\n1,1\n2,0\n3,\n")
    assert read_tables(tmp_path / "later.csv", edges, schema=graph.schema).y.tolist() == [1, 0, -1]
    old = {**graph.schema, "label": {"column": "bad", "rare": "1.0", "values": ["0.0", "1.0"]}}
    assert read_tables(tmp_path / "nodes.csv", edges, schema=old).y.tolist() == [1, 0, -1]


@pytest.mark.parametrize("decimal", ["nodes", "edges"])
def test_ids_that_one_table_writes_as_decimals_are_found(decimal, tmp_path):
    sign = {"nodes": ("7.0", "8.0", "7", "8"), "edges": ("7", "8", "7.0", "8.0")}[decimal]
    (tmp_path / "nodes.csv").write_text(f"id,bad\n{sign[0]},y\n{sign[1]},n\n")
    (tmp_path / "edges.csv").write_text(f"source,target\n{sign[2]},{sign[3]}\n")
    graph = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", label="bad", rare="y")
    assert graph.ids.tolist() == list(sign[:2]) and graph.edges.source.tolist() == [0]


def test_of_two_ends_one_of_which_is_no_node_the_other_is_what_comes_up_again():
    nodes = {"vendor_no": [f"v{k}" for k in range(9)], "bad": ["y", "n"] + [None] * 7}
    rows = np.arange(80)
    edges = {
        "invoice": rows + 500,
        "total": [f"${k}.50" for k in rows % 7],
        "vendor_no": [f"v{k % 9}" for k in rows],
        "office": [f"o{k % 6}" for k in rows],
    }
    graph = read_tables(nodes, edges, label="bad", rare="y")
    assert (graph.schema["edges"]["source"], graph.schema["edges"]["target"]) == ("vendor_no", "office")
    assert graph.num_nodes == 15 and graph.node_type_names == ("vendor_no", "office")


def test_of_very_many_categories_nobody_says_that_they_were_never_seen():
    names = [f"t{k}" for k in range(1_500)] * 2
    edges = {"source": [1] * 3_000, "target": [2] * 3_000, "town": names}
    graph = read_tables({"id": [1, 2], "bad": ["y", "n"]}, edges, label="bad", rare="y")
    assert graph.schema["read"]["edge_values"]["unseen"] == {} and graph.schema["read"]["edge_values"]["rare"] == {
        "town": 2_600
    }


@pytest.mark.parametrize(
    ("write", "style"),
    [
        (lambda k: f"{1 + k % 28:02d}.{1 + k % 12:02d}.{1950 + k % 50}", {"date": "%d.%m.%Y"}),
        (lambda k: f"{k},5", {"decimal": ","}),
        (lambda k: str(k % 60), {}),
        (lambda k: str(1 + k % 5), {}),
    ],
)
def test_one_word_that_often_stands_for_a_number_or_a_date_is_a_gap(write, style):
    size = 200
    nodes = {"id": range(size), "value": ["k.A." if k % 10 == 3 else write(k) for k in range(size)]}
    nodes["y"] = ["yes" if k % 7 == 0 else "no" for k in range(size)]
    edges = {"source": [0], "target": [1]}
    graph = read_tables(nodes, edges, label="y", rare="yes")
    empty = read_tables({**nodes, "value": [None if text == "k.A." else text for text in nodes["value"]]}, edges, label="y", rare="yes")  # fmt: skip
    assert graph.feature_names == empty.feature_names == ("value", "value is missing")
    np.testing.assert_array_equal(graph.x, empty.x)
    (column,) = graph.schema["columns"]
    assert column["text"] == {**style, "missing": "k.A."} and graph.schema["read"]["imputed"] == {"value": 20}
    again = read_tables(nodes, edges, schema=graph.schema)
    np.testing.assert_array_equal(again.x, graph.x)


@pytest.mark.parametrize("sign", ["", " €", " kWh"])
@pytest.mark.parametrize("side", ["nodes", "edges"])
def test_points_that_group_thousands_are_no_decimals(sign, side):
    """850 and 1.200, as people write them who write 1,5 for a half."""
    size = 60
    numbers = np.exp(np.linspace(5, 12, size)).round()
    written = [f"{number:,.0f}{sign}".replace(",", ".") for number in numbers]
    other = [f"{k % 7}.{k % 9}{k % 3}5{sign}" for k in range(size)]
    nodes = {"id": range(size), "y": ["yes" if k % 7 == 0 else "no" for k in range(size)]}
    edges = {"source": range(size), "target": [(k + 1) % size for k in range(size)]}
    (nodes if side == "nodes" else edges).update(turnover=written, ratio=other)
    graph = read_tables(nodes, edges, label="y", rare="yes")
    again = read_tables(nodes, edges, schema=graph.schema)
    for read in (graph, again):
        if side == "edges":
            found, ratio = (column.values for column in read.edges.columns)
        else:
            scaled = zip(read.schema["columns"], read.x.T, strict=True)
            found, ratio = (values.astype(float) * column["scale"] + column["mean"] for column, values in scaled)
        np.testing.assert_allclose(found, numbers, rtol=1e-4, atol=0.1)
        np.testing.assert_allclose(ratio, [float(f"{k % 7}.{k % 9}{k % 3}5") for k in range(size)], atol=1e-5)


def test_several_words_that_say_that_something_is_missing_are_gaps():
    texts = pl.Series("c", [*(f"{k},5" for k in range(40)), *["entfällt", "nicht erhoben", "--"] * 4])
    found = understand(texts)
    assert found.style == {"decimal": ",", "missing": "--|entfällt|nicht erhoben"}
    values = to_numbers(texts, found.style)
    assert np.isnan(values[40:]).all() and values[:40].tolist() == [k + 0.5 for k in range(40)]
    assert read_styled(texts, found.style)[1].to_list() == []


def test_words_among_few_codes_and_several_words_stay_words():
    codes = pl.Series(["1", "2", "3", "other"] * 20)
    assert understand(codes).kind == "words"
    assert understand(pl.Series([*map(str, range(100)), "low", "low", "high", "high"])).kind == "words"
    assert "missing" not in understand(pl.Series([*map(str, range(300)), "slip"])).style
    assert (
        understand(pl.Series(["1.5", "200 m", "45 m"])).kind == understand(pl.Series(["12h", "x 7m"])).kind == "words"
    )
    numbered = pl.Series("row", ["none yet" if k % 10 == 3 else str(k) for k in range(200)])
    assert kind_of(numbered).reason == kind_of(numbered.set(numbered == "none yet", None)).reason != ""


@pytest.mark.parametrize(("plus", "minus"), [("H", "S"), ("CR", "DR")])
@pytest.mark.parametrize("side", ["nodes", "edges"])
def test_the_sides_of_an_account_are_signs(plus, minus, side):
    size = 60
    amounts = np.round(np.linspace(-700, 900, size), 2)
    written = [f"{abs(amount):.2f} {minus if amount < 0 else plus}" for amount in amounts]
    nodes = {"id": range(size), "y": ["yes" if k % 7 == 0 else "no" for k in range(size)]}
    edges = {"source": range(size), "target": [(k + 1) % size for k in range(size)]}
    (nodes if side == "nodes" else edges).update(balance=written)
    schema = read_tables(nodes, edges, label="y", rare="yes").schema
    graph = read_tables(nodes, edges, schema=schema)
    found = graph.column("balance") if side == "nodes" else graph.edges.columns[0].values
    np.testing.assert_allclose(found, amounts, atol=1e-3)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["7.50 EUR", "900 JPY"], "amounts in several currencies (EUR 30, JPY 30)"),
        (["7.50 €", "8 EUR"], ""),
        (["66%", "51"], "30 of 60 numbers have a percent sign and are read as shares (66% as 0.66)"),
        (["66%", "51%"], ""),
    ],
)
@pytest.mark.parametrize("side", ["nodes", "edges"])
def test_numbers_that_mean_different_things_are_told_of(cells, says, side, caplog):
    nodes = {"id": range(60), "x": range(60), "y": ["yes", "no", "no"] * 20}
    edges = {"source": [0] * 60, "target": range(60)}
    (nodes if side == "nodes" else edges).update(amount=cells * 30)
    read_tables(nodes, edges, label="y", rare="yes")
    assert caplog.text.count("column 'amount'") == bool(says) and says in caplog.text


@pytest.mark.parametrize("never", ["9999-12-31", "31.12.9999", "00.00.0000", "0000-00-00 00:00:00"])
def test_the_end_of_time_is_no_date(never):
    days = [f"2024-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(200)]
    nodes = {"id": range(200), "y": ["yes", "no", "no", "no"] * 50}
    edges = {"source": [0], "target": [1]}
    found = read_tables({**nodes, "closed": [never if k % 8 == 0 else day for k, day in enumerate(days)]}, edges, label="y", rare="yes")  # fmt: skip
    empty = read_tables({**nodes, "closed": [None if k % 8 == 0 else day for k, day in enumerate(days)]}, edges, label="y", rare="yes")  # fmt: skip
    np.testing.assert_array_equal(found.x, empty.x)
    assert found.schema["columns"][0]["type"] == "numeric" and found.schema["nodes"]["same"] == []


def test_dates_in_several_forms_are_left_out_with_a_word_and_join_nobody(caplog):
    nodes = {"id": range(400), "x": range(400), "y": ["yes", "no", "no", "no"] * 100}
    opened = ["ca. 2019" if k % 20 == 0 else f"{1 + k % 28:02d}.{1 + k % 12:02d}.{2000 + k % 11}" for k in range(400)]
    graph = read_tables({**nodes, "opened": opened}, {"source": [0], "target": [1]}, label="y", rare="yes")
    assert graph.num_nodes == 400 and graph.schema["nodes"]["same"] == []
    assert "column 'opened' is left out: dates in no form that fits all" in caplog.text


def test_a_number_out_of_all_proportion_is_refused_at_the_fit_too():
    nodes = {"id": range(60), "amount": [*map(float, range(59)), 1e30], "y": ["yes", "no", "no"] * 20}
    with pytest.raises(InputError, match="column 'amount' holds a value out of all proportion in row 60"):
        read_tables(nodes, {"source": [0], "target": [1]}, label="y", rare="yes")


@pytest.mark.parametrize("other", [None, "device", "a second table"])
@pytest.mark.parametrize("drop", [False, True])
def test_ids_as_decimals_are_found_whatever_else_joins_nodes(other, drop):
    ids = np.arange(1_000, 1_200)
    nodes = {"id": ids, "x": ids % 7, "y": ["yes", "no", "no", "no"] * 50}
    rng = np.random.default_rng(0)
    ends = {"source": rng.choice(ids, 300), "target": rng.choice(ids, 300)}
    decimals = {name: column.astype(float) for name, column in ends.items()}
    options = {"label": "y", "rare": "yes", "drop_unknown_edges": drop}
    if other == "device":
        nodes["device_id"] = [f"d{k // 2}" for k in range(200)]
    more = {"calls": {name: column.astype(str) for name, column in ends.items()}}
    one, two = ({"pays": some} | more if other == "a second table" else some for some in (ends, decimals))
    plain, found = read_tables(nodes, one, **options), read_tables(nodes, two, **options)
    np.testing.assert_array_equal(found.edge_index, plain.edge_index)
    assert found.ids.tolist() == plain.ids.tolist() and len(found.edges) == len(plain.edges)


def test_who_leaves_out_unknown_ends_does_not_mean_most_of_them_by_a_slip():
    nodes = {"id": ["A1", "A2", "A3"], "x": [1, 2, 3], "y": ["yes", "no", "no"]}
    edges = {"source": ["a1", "a2", "A3"], "target": ["a2", "a3", "A1"]}
    with pytest.raises(InputError, match="differ in upper and lower case"):
        read_tables(nodes, edges, label="y", rare="yes", drop_unknown_edges=True)
