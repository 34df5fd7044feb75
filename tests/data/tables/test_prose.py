"""Columns of texts: which they are, and their words beside what scikit-learn finds in the same texts."""

import logging

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

import calirare as cr
from calirare.data.tables.audit import audit_graph
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.prose import MOST_WORDS, find_words, is_prose, learn_words
from calirare.data.tables.relearn import arguments_of
from calirare.data.tables.shift import compare_with_fit
from calirare.errors import InputError
from calirare.evaluation.graph_value import audit_with_graph

WORDS = [
    f"{first}{last}"
    for first in ("bar", "Den", "fix", "ÖL", "jit")
    for last in ("ka", "Lo", "mé", "ne", "2pu", "Ra", "si")
]


def texts(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, len(WORDS) + 1)
    return [", ".join(rng.choice(WORDS, rng.integers(5, 12), p=share / share.sum())) + "." for _ in range(count)]


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
    mine = learn_words(pl.Series(some))
    assert mine == sorted(theirs.get_feature_names_out())
    want = normalize(judge(vocabulary=mine).transform(some).astype(float))
    np.testing.assert_allclose(find_words(pl.Series(some), mine).toarray(), want.toarray(), atol=1e-6)


def test_where_no_blanks_part_words_two_letters_that_stand_together_are_one():
    some = ["客户说卡丢了,要退款", "Visa卡丢了 ok", "ลูกค้าทำบัตรหาย", None]
    words = ["visa", "ok", "卡丢", "丢了", "要退", "退款", "户说", "了要", "了o", "a卡"]
    found = find_words(pl.Series(some), sorted(words)).toarray() > 0
    has = [{word for word, there in zip(sorted(words), row, strict=True) if there} for row in found]
    assert has == [{"卡丢", "丢了", "要退", "退款", "户说"}, {"visa", "ok", "卡丢", "丢了"}, set(), set()]
    assert is_prose(pl.Series(["客户说卡丢了,要退款", "他没有收到新的卡片"])) and not is_prose(
        pl.Series(["王小明", "李大华"])
    )


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


@pytest.mark.parametrize(
    ("values", "prose"),
    [
        (["Anna Maria Schmidt", "Jo Ann Smith", "Li Wei"], False),
        (["anna@mail.example.com", "jo@mail.example.com"], False),
        (["550e8400-e29b-41d4-a716-446655440000", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"], False),
        (["10.0.3.17", "192.168.0.1"], False),
        (["ring; gold; used; signed", "chair; oak; new; small; signed"], True),
        (["Kunde meldet, dass die Karte weg ist", "Le client a perdu sa carte"], True),
    ],
)
def test_prose_is_told_from_names_and_keys(values, prose):
    assert is_prose(pl.Series(values)) is prose


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
    assert later.x[0].tolist() == [0.0, later.x[0, 1], *(name == "note has barka" for name in graph.feature_names[2:])]
    assert arguments_of(graph.schema)["types"] == {"note": "text", "age": "numeric"}


def test_what_is_text_can_be_said():
    names = nodes(note=[f"{one} {two}" for one, two in zip(texts(300), texts(300, 1), strict=True)])
    assert read(names, types={"note": "ignore"}).num_words == 0
    short = names.with_columns(note=pl.col("note").str.slice(0, 7))
    assert [column["type"] for column in read(short).schema["columns"]] == ["categorical", "numeric"]
    assert read(short, types={"note": "text"}).num_words > 0
    edges = {**EDGES, "reference": texts(298)}
    read_edges = read(names, edges).schema["edges"]["columns"]
    assert read_edges == [{"name": "reference", "kind": "ignore", "reason": "texts, which are read of nodes alone"}]
    with pytest.raises(InputError, match=r"types\['reference'\] cannot be text"):
        read(names, edges, types={"reference": "text"})


def test_lists_of_things_are_texts_however_they_are_written(tmp_path):
    rng = np.random.default_rng(3)
    tags = [sorted(rng.choice([f"tag{chr(97 + k)}" for k in range(14)], 3, replace=False).tolist()) for _ in range(300)]
    plain = read(nodes(note=["; ".join(some) for some in tags]))
    assert plain.schema["columns"][0]["type"] == "text" and plain.num_words == 14
    nodes(note=tags).write_parquet(tmp_path / "nodes.parquet")
    for table in (nodes(note=tags), tmp_path / "nodes.parquet", nodes(note=[str(some) for some in tags])):
        np.testing.assert_array_equal(read(table).x, plain.x)
    edges = {name: 4 * ends for name, ends in EDGES.items()} | {"goods": 4 * ["; ".join(some) for some in tags[:298]]}
    assert read(nodes(), edges).schema["edges"]["columns"][0]["kind"] == "category"
    few = nodes(note=["; ".join(some) for some in tags[:40]] * 7 + ["; ".join(tags[0])] * 20)
    assert read(few).schema["columns"][0]["type"] == "categorical"


def test_texts_without_words_that_come_again_are_left_out():
    letters = np.random.default_rng(0).choice(list("abcdefghijklmnop"), (300, 5, 12))
    graph = read(nodes(note=[" ".join("".join(word) for word in row) for row in letters]))
    assert graph.schema["columns"][0] == {
        "name": "note",
        "type": "ignore",
        "reason": "texts without words that come again",
    }


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
