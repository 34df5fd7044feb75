"""Columns of texts: which they are, and their words beside what scikit-learn finds in the same texts."""

import logging
import uuid

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

import calirare as cr
from calirare.data.edge_table import EdgeColumn
from calirare.data.tables.audit import audit_graph
from calirare.data.tables.cells.prose import MOST_WORDS, find_words, has_common_words, learn_edge_words, learn_words
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.schema.asked import arguments_of
from calirare.data.tables.shift import compare_with_fit
from calirare.errors import InputError
from calirare.evaluation.graph_value import audit_with_graph
from calirare.features.recipe import ColumnRecipe

WORDS = [
    f"{first}{last}"
    for first in ("bar", "Den", "fix", "ÖL", "jit")
    for last in ("ka", "Lo", "mé", "ne", "2pu", "Ra", "si")
]


def texts(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, len(WORDS) + 1)
    lengths = rng.integers(5, 12, count)
    words = np.split(rng.choice(WORDS, lengths.sum(), p=share / share.sum()), lengths.cumsum()[:-1])
    return [", ".join(some) + "." for some in words]


def nodes(count: int = 300, **more) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    columns = {"id": range(count), "note": texts(count), "age": rng.normal(size=count), "bad": rng.random(count) < 0.2}
    return pl.DataFrame(columns | more)


EDGES = {"source": list(range(0, 298)), "target": list(range(2, 300))}


def read(table: pl.DataFrame, edges=EDGES, **options) -> cr.RareGraph:
    return cr.read_tables(table, edges, label="bad", rare="true", **options)


def judge(**options) -> CountVectorizer:
    return CountVectorizer(binary=True, token_pattern=r"(?u)[^\W\d_]\w+", **options)


def test_words_are_those_that_scikit_learn_finds():
    some = texts(400)
    theirs = judge(min_df=5, max_df=0.5).fit(some)
    mine = [word for word in learn_words(pl.Series(some)) if " " not in word]
    assert mine == sorted(theirs.get_feature_names_out())
    want = normalize(judge(vocabulary=mine).transform(some).astype(float))
    np.testing.assert_allclose(find_words(pl.Series(some), mine).toarray(), want.toarray(), atol=1e-6)


def test_how_a_text_is_written_is_told_beside_its_words():
    plain = ["rent for the flat", "rent again", "flat was fine and so was the garden of the house"]
    some = [*plain * 8, *["CALL NOW!!! http://shop.example", "flat or rent?\nask 0170 5551234, 30 €"] * 6]
    mine = learn_words(pl.Series(some))
    beside = {word for word in mine if " " in word}
    assert beside == {
        "at least 8 words", "fewer than 4 words", "5% of its words in capitals", "10% of its words in capitals",
        "20% of its words in capitals", "35% of its words in capitals",
        "a link", "an exclamation mark", "several such marks at once", "a question mark",
        "a number", "a number of 5 digits or more", "a sign of money", "a line of its own",
    }  # fmt: skip
    found = find_words(pl.Series(some), mine)
    words = np.array([" " not in word for word in mine])
    np.testing.assert_allclose(np.sqrt((found[:, words].toarray() ** 2).sum(axis=1)), 1, atol=1e-6)
    assert set(found[:, ~words].data) == {np.float32(0.3)}


def test_where_no_blanks_part_words_two_letters_that_stand_together_are_one():
    some = ["客户说卡丢了,要退款", "Visa卡丢了 ok", "ลูกค้าทำบัตรหาย", None]
    words = ["visa", "ok", "卡丢", "丢了", "要退", "退款", "户说", "了要", "了o", "a卡"]
    found = find_words(pl.Series(some), sorted(words)).toarray() > 0
    has = [{word for word, there in zip(sorted(words), row, strict=True) if there} for row in found]
    assert has == [{"卡丢", "丢了", "要退", "退款", "户说"}, {"visa", "ok", "卡丢", "丢了"}, set(), set()]
    assert has_common_words(pl.Series(["客户说卡丢了,要退款", "客户没有收到新的卡", "好"] * 5))


def test_of_too_many_words_the_most_frequent_are_kept():
    rng = np.random.default_rng(0)
    names = np.array(["w" + "".join(chr(97 + int(d)) for d in str(k)) for k in range(MOST_WORDS + 300)])
    share = 1 / np.arange(10, len(names) + 10)
    some = [" ".join(rng.choice(names, 200, p=share / share.sum())) for _ in range(700)]
    kept = set(learn_words(pl.Series(some)))
    counts = {word: 0 for word in names}
    for text in some:
        for word in set(text.split()):
            counts[word] += 1
    usable = {word: count for word, count in counts.items() if 5 <= count <= 350}
    assert len(kept) == MOST_WORDS < len(usable)
    assert min(usable[word] for word in kept) >= max(count for word, count in usable.items() if word not in kept)


RNG = np.random.default_rng(7)
NAMES = ["".join(RNG.choice(list("abcdefghiklmnoprst"), 6)).title() for _ in range(400)]
FIRMS = ["Trading", "Holding", "Transport", "Bau GmbH", "Logistics Ltd", "Consulting"]


def some(*parts) -> list[str]:
    return [" ".join(str(RNG.choice(part)) for part in parts) for _ in range(500)]


@pytest.mark.parametrize(
    ("values", "worded"),
    [
        (some(NAMES, NAMES), False),
        ([f"{name.lower()}@mail.example.com" for name in some(NAMES)], False),
        ([str(uuid.UUID(bytes=RNG.bytes(16))) for _ in range(2_000)], False),
        ([RNG.bytes(20).hex() for _ in range(500)], False),
        (["10.0.3.17", "192.168.0.1"] * 100, False),
        ([f"ACC-{k}" for k in range(500)], False),
        ([f"Invoice {k}" if k % 3 else f"{NAMES[k]} rent {k}" for k in range(400)], True),
        (some(NAMES, FIRMS), True),
        (texts(300), True),
        ([f"{name} k{k}" for k, name in enumerate(some(NAMES))] + ["see the contract"] * 400, False),
    ],
)
def test_texts_with_words_that_come_again_are_told_from_names_and_keys(values, worded):
    assert has_common_words(pl.Series(values)) is worded


def test_names_of_people_are_not_read_even_where_few_names_are_common():
    few = [f"{one} {k}" for k, one in enumerate(some(["Kim", "Lee", "Park", "Choi"])[:300])]
    assert read(nodes().rename({"note": "last_name"}).with_columns(last_name=pl.Series(few))).num_words == 0
    assert read(nodes(note=few)).num_words == 4
    mails = [f"{one}@{RNG.choice(['post.org', 'mail.net', 'box.io'])}" for one in some(NAMES)[:300]]
    found = read(nodes(note=mails)).feature_names
    assert has_common_words(pl.Series(mails)) and not any(name.lower() in "".join(found).lower() for name in NAMES)


def edge_texts(count: int = 1_500) -> pl.DataFrame:
    """Nodes below 30 get payments for vouchers; rent is paid by all."""
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 300, (2, count))
    odd = (ends[1] < 30) & (rng.random(count) < 0.6)
    words = [f"{'voucher' if one else rng.choice(['rent', 'food', 'fees'])} no {k}" for k, one in enumerate(odd)]
    return pl.DataFrame({"source": ends[0], "target": ends[1], "reference": [None, *words[1:]]})


def test_texts_of_edges_are_read_by_the_words_by_which_nodes_differ():
    edges = edge_texts()
    (column,) = read(nodes(), edges).edges.columns
    assert (column.kind, column.categories) == ("text", ("fees", "food", "rent", "voucher"))
    want = judge(vocabulary=column.categories).transform(edges["reference"].fill_null("")).toarray() > 0
    np.testing.assert_array_equal(np.column_stack([column.has(word) for word in column.categories]), want)
    assert np.isnan(column.values[0]) and column.words(0) is None and column.words(1) in column.categories
    texts, ends = edges["reference"], (edges["source"], edges["target"])
    assert learn_edge_words(texts, *ends, 1) == ["voucher"]
    node = np.concatenate([edges["source"], edges["target"]])[np.tile(np.arange(1_500) > 0, 2)]
    has = np.tile(want[1:], (2, 1))
    differ = []
    for word in range(4):  # every two texts of a node, one by one
        pairs = [
            (np.sum(mine) ** 2 - np.sum(mine)) / (mine.size * (mine.size - 1)) if mine.size > 1 else float(mine[0])
            for mine in (has[node == one, word] for one in np.unique(node))
        ]
        shares = [has[node == one, word].mean() for one in np.unique(node)]
        differ.append(np.mean(pairs) - np.mean(shares) ** 2)
    order = np.argsort(differ)[::-1]
    assert learn_edge_words(texts, *ends, 2) == sorted(column.categories[k] for k in order[:2])


def test_shares_of_words_are_those_of_the_texts_that_there_are():
    edges = edge_texts()
    columns = ColumnRecipe.learn(graph := read(nodes(), edges)).apply(graph)
    value = dict(zip(columns.names, columns.values.T, strict=True))
    known = edges.drop_nulls().with_columns(odd=pl.col("reference").str.contains("voucher"))
    for end, which in (("source", "outgoing"), ("target", "incoming")):
        want = known.group_by(end).agg(pl.col("odd").mean())
        np.testing.assert_allclose(value[f"reference has voucher, share of {which}"][want[end]], want["odd"], rtol=1e-6)
    assert value["reference missing, share of edges"].max() > 0


def test_an_edge_text_is_described_audited_compared_and_written_out(caplog):
    edges = edge_texts()
    graph = read(nodes(), edges)
    row = next(row for row in describe_schema(graph.schema) if row["column"] == "reference")
    assert (row["type"], row["treatment"]) == ("text", "shares of 4 words: fees, food, rent, voucher")
    assert graph.to_polars()[1]["reference"][:2].to_list() == [None, graph.edges.columns[0].words(1)]
    told = nodes(bad=np.isin(np.arange(300), edges.filter(pl.col("reference").str.contains("voucher"))["target"]))
    (leak,) = audit_graph(read(told, edges)).leaks
    assert leak.column == "reference" and "edges where it has 'voucher' end at" in leak.words
    with caplog.at_level(logging.WARNING):
        other = edges.with_columns(reference=pl.col("reference").str.replace("rent|food|fees", "miete"))
        (shift,) = compare_with_fit(cr.read_tables(nodes(), other, schema=graph.schema)).found
    assert (shift.column, shift.severity) == ("reference", "large")
    assert shift.words.startswith("known words per text, median 1 at fit, 0 now.")


def test_edge_texts_that_are_none_are_refused():
    for values, words in (([0.5], ("a",)), ([2.0], ("a",)), ([-1.0], ("a",)), ([0.0], tuple("abcdefgh" * 6))):
        with pytest.raises(InputError, match="by one bit each"):
            EdgeColumn("note", "text", np.array(values), words)


def test_a_column_of_texts_is_read_behind_all_others_and_described():
    graph = read(nodes())
    words = learn_words(nodes()["note"])
    assert graph.feature_names == ("age", *(f"note has {word}" for word in words))
    assert graph.num_words == len(words) == graph.num_features - 1
    np.testing.assert_allclose(graph.x[:, 1:], find_words(nodes()["note"], words).toarray())
    row = next(row for row in describe_schema(graph.schema) if row["column"] == "note")
    assert row["type"] == "text" and row["treatment"].startswith(f"{len(words)} words: {words[0]}, {words[1]}, ")


def test_a_new_table_is_read_by_the_words_of_the_fit_and_gaps_are_marked():
    graph = read(nodes(note=[None, "  ", *texts(298)]))
    assert graph.feature_names[:2] == ("note is missing", "age")
    assert graph.x[:3, 0].tolist() == [1.0, 1.0, 0.0]
    later = cr.read_tables(nodes(note=["barka never seen", *texts(299, seed=9)]), EDGES, schema=graph.schema)
    assert later.feature_names == graph.feature_names
    named = dict(zip(graph.feature_names, later.x[0].tolist(), strict=True))
    there = {name for name, value in named.items() if value and name != "age"}
    assert there == {name for name in named if name == "note has barka" or "fewer than" in name} != set()
    assert arguments_of(graph.schema)["types"] == {"note": "text", "age": "numeric"}


def test_what_is_text_can_be_said():
    names = nodes(note=[f"{one} {two}" for one, two in zip(texts(300), texts(300, 1), strict=True)])
    assert read(names, types={"note": "ignore"}).num_words == 0
    short = names.with_columns(note=pl.col("note").str.slice(0, 7))
    assert [column["type"] for column in read(short).schema["columns"]] == ["categorical", "numeric"]
    assert read(short, types={"note": "text"}).num_words > 0
    edges = {**EDGES, "reference": ["cash in" if k % 2 else "card" for k in range(298)]}
    kinds = [read(names, edges, types=types).schema["edges"]["columns"] for types in (None, {"reference": "text"})]
    assert [column["kind"] for (column,) in kinds] == ["category", "text"]


def test_lists_of_things_are_texts_however_they_are_written(tmp_path):
    rng = np.random.default_rng(3)
    tags = [sorted(rng.choice([f"tag{chr(97 + k)}" for k in range(14)], 3, replace=False).tolist()) for _ in range(300)]
    plain = read(nodes(note=["; ".join(some) for some in tags]))
    assert plain.schema["columns"][0]["type"] == "text" and plain.num_words == 14
    nodes(note=tags).write_parquet(tmp_path / "nodes.parquet")
    for table in (nodes(note=tags), tmp_path / "nodes.parquet", nodes(note=[str(some) for some in tags])):
        np.testing.assert_array_equal(read(table).x, plain.x)
    goods = ["; ".join(one + other) for one in tags[:60] for other in tags[60:65]][:298]
    edges = {name: 4 * ends for name, ends in EDGES.items()} | {"goods": 4 * goods}
    column = read(nodes(), edges).edges.columns[0]
    assert column.kind == "text" and set(column.words(0).split()) == set(goods[0].split("; ")) & set(column.categories)
    few = nodes(note=["; ".join(some) for some in tags[:40]] * 7 + ["; ".join(tags[0])] * 20)
    assert read(few).schema["columns"][0]["type"] == "categorical"


def test_texts_without_words_that_come_again_are_left_out():
    letters = np.random.default_rng(0).choice(list("abcdefghijklmnop"), (300, 5, 12))
    graph = read(nodes(note=[" ".join("".join(word) for word in row) for row in letters]), types={"note": "text"})
    column = graph.schema["columns"][0]
    assert (column["type"], column["reason"]) == ("ignore", "texts without words that come again")


def test_a_word_that_gives_the_label_away_is_a_leak():
    table = nodes()
    told = [f"{note} {'chargeback' if bad else 'fine'}" for note, bad in zip(table["note"], table["bad"], strict=True)]
    graph = read(table.with_columns(note=pl.Series(told)))
    (leak,) = audit_graph(graph).leaks
    assert leak.column == "note" and "its word 'chargeback' alone tells the classes apart" in leak.words
    assert "--type note=ignore" in leak.words
    assert not audit_graph(read(table)).leaks
    assert any("without 'note'" in finding.words for finding in audit_with_graph(graph).findings)


def test_texts_in_another_language_have_shifted(caplog):
    graph = read(nodes())
    with caplog.at_level(logging.WARNING):
        other = nodes(note=[text.replace("a", "xx").replace("e", "yy") for text in texts(300)])
        (shift,) = compare_with_fit(cr.read_tables(other, EDGES, schema=graph.schema)).found
    assert (shift.column, shift.severity) == ("note", "large")
    assert shift.words.startswith("known words per text, median")
    assert not compare_with_fit(cr.read_tables(nodes(note=texts(300, 5)), EDGES, schema=graph.schema)).found


def test_a_schema_with_broken_words_is_refused():
    graph = read(nodes())
    for words in ([], [1], ["a", "a"]):
        schema = {
            **graph.schema,
            "columns": [{**graph.schema["columns"][0], "words": words}, *graph.schema["columns"][1:]],
        }
        with pytest.raises(InputError, match="schema"):
            cr.read_tables(nodes(), EDGES, schema=schema)
