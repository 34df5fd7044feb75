"""Texts as words: whether a column is read so, by which words, and which of them each text has.

How a text is written is told beside its words: loud, long, with a link. What is said of that has blanks in it, as no word has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from calirare.data.feature_places import says_how_made
from calirare.data.tables.cells.addresses import parts_of
from calirare.data.tables.libraries import pl

NO_COMMON_WORDS = "texts without words that come again"
"""The reason given for a column of texts that is not used."""
MOST_WORDS = 2_000
"""Most words of one column; the most frequent are kept."""
MOST_PARTS = 100
"""Most parts of one column of addresses."""
_FEWEST_TEXTS = 5
"""A word must occur in this many texts to be known."""
_COMMON = 0.01
"""A word is common if at least this share of the texts have it and at least this share do not."""
_COME_AGAIN = 0.9
"""Share of the listed things that must occur in other lists too."""
_MOST_LOOKED_AT = 10_000
_MOST_READ = 200_000
"""Texts from which words are learned, evenly chosen."""
_AT_ONCE = 65_536
_UNPARTED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts without blanks between words: every pair of adjacent letters counts as a word."""
_PAIR = rf"[{_UNPARTED}]{{2}}"
_WORD = rf"[\p{{L}}--[{_UNPARTED}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_UNPARTED}]]+"
_LOUD = r"\p{Lu}{3,}"
_SIZE = 0.3
"""Of what is told beside the words: that of a word among ten others."""
_SHARES_LOUD = (0.05, 0.1, 0.2, 0.35, 0.5)
_LONG = (4, 8, 16, 32, 64, 128)
_SIGNS = {
    "a link": r"(?i)https?://|\bwww\.",
    "an address of mail": r"\S@\S",
    "a number": r"\d",
    "a number of 5 digits or more": r"\d{5}",
    "a sign of money": r"\p{Sc}",
    "an exclamation mark": "!",
    "a question mark": r"\?",
    "several such marks at once": "[!?]{2}",
    "a picture": r"\p{So}",
    "a line of its own": r"\n\s*\S",
}
_THING = r"[^;,|\[\]{}\"']*\p{L}[^;,|\[\]{}\"']*"


def has_common_words(texts: pl.Series) -> bool:
    """Whether most of these known texts have a word that comes again and again, as descriptions, references and names of firms do.

    Names of people and keys do not: each of their words is rarer than that, or they all have it.

    >>> import polars as pl
    >>> has_common_words(pl.Series([f"{what} {k}" for k in range(90) for what in ("invoice", "rent", "refund of")]))
    True
    >>> has_common_words(pl.Series([f"ref {k}" for k in range(270)]))
    False
    """
    some = texts.gather_every(max(1, texts.len() // _MOST_LOOKED_AT))
    lists = _words(some)
    common = _usual_words(lists, max(_FEWEST_TEXTS, _COMMON * some.len()), 1 - _COMMON)
    return bool(common) and bool(2 * (lists.list.set_intersection(common).list.len() > 0).sum() >= some.len())


def is_list(texts: pl.Series) -> bool:
    """Whether texts list several things each, nearly all of which come again: `rock; live`, `["rock", "live"]`.

    >>> import polars as pl
    >>> is_list(pl.Series(["rock; live", "jazz; live", "rock; jazz; live"] * 5)), is_list(pl.Series(["Lovelace, Ada"]))
    (True, False)
    """
    some = texts.gather_every(max(1, texts.len() // _MOST_LOOKED_AT))
    lists = some.str.to_lowercase().str.extract_all(_THING)
    if not some.len() or float(np.median(lists.list.len().to_numpy())) < 2:
        return False
    counts = lists.explode().drop_nulls().str.strip_chars().value_counts()["count"].to_numpy()
    return bool(counts[counts >= _FEWEST_TEXTS].sum() >= _COME_AGAIN * counts.sum())


def learn_words(texts: pl.Series, form: str = "") -> list[str]:
    """The words of a column of nodes, in order of the alphabet: those of some texts, but of no more than half of them.

    Addresses of a `form` have parts for words (`calirare.data.tables.cells.addresses`).

    >>> import polars as pl
    >>> learn_words(pl.Series(["the red car", "The blue car!"] * 5 + ["the end"] * 4 + [None]))
    ['an exclamation mark', 'blue', 'red']
    """
    known = texts.drop_nulls()
    some = known.gather_every(max(1, known.len() // _MOST_READ))
    return sorted(_usual_words(_parts(some, form))[: MOST_PARTS if form else MOST_WORDS])


def learn_edge_words(texts: pl.Series, source: pl.Series, target: pl.Series, most: int, form: str = "") -> list[str]:
    """The words of a column of edges, in order of the alphabet: those by whose share in their texts nodes differ most.

    Of a node with n texts of which k have a word, k(k − 1)/n(n − 1) tells its share squared without what chance adds. Of
    that the mean over all nodes less the square of the mean share is how much the shares differ.

    >>> import polars as pl
    >>> texts, source = ["rent again", "rent twice", "crypto again", "crypto twice"] * 5, ["a", "a", "b", "b"] * 5
    >>> learn_edge_words(pl.Series(texts), pl.Series(source), pl.Series(["c"] * 20), 2)
    ['crypto', 'rent']
    """
    step = max(1, texts.len() // _MOST_READ)
    words = _parts(texts.gather_every(step), form)
    ends = [end.gather_every(step).cast(pl.String).alias("node") for end in (source, target)]
    rows = pl.concat([pl.DataFrame([words.alias("word"), end]) for end in ends]).drop_nulls()
    usual = _usual_words(words.drop_nulls())[:MOST_WORDS]
    sizes = rows.group_by("node").len("texts")
    counts = rows.explode("word").filter(pl.col("word").is_in(usual)).group_by("word", "node").len("having")
    k, n = pl.col("having").cast(pl.Float64), pl.col("texts").cast(pl.Float64)
    squares = pl.when(n > 1).then(k * (k - 1) / (n * (n - 1))).otherwise(k)
    per_word = counts.join(sizes, on="node").group_by("word").agg(share=(k / n).sum(), square=squares.sum())
    differ = pl.col("square") / sizes.height - (pl.col("share") / sizes.height) ** 2
    chosen = per_word.with_columns(differ=differ.round(12)).sort(["differ", "word"], descending=[True, False])
    return sorted(chosen["word"].head(most).to_list())


def find_words(texts: pl.Series, words: Sequence[str], form: str = "") -> sp.csr_array:
    """`(N, F)` float32: of each text the known words it has, all of equal size; together they have length one.

    How it is written is told beside them, in a size of its own.

    >>> import polars as pl
    >>> find_words(pl.Series(["Red, red car", None, "a boat"]), ["car", "red"]).toarray()
    array([[0.70710677, 0.70710677],
           [0.        , 0.        ],
           [0.        , 0.        ]], dtype=float32)
    """
    known, blocks = pl.Enum(list(words)), []
    beside = np.array([says_how_made(word) and not form for word in words], dtype=bool)
    for start in range(0, texts.len(), _AT_ONCE):
        lists = (
            _parts(texts.slice(start, _AT_ONCE), form).cast(pl.List(known), strict=False).list.drop_nulls().list.sort()
        )
        counts = lists.list.len().fill_null(0).to_numpy()
        codes = lists.explode().drop_nulls().to_physical().to_numpy()
        row, told = np.repeat(np.arange(len(counts)), counts), beside[codes]
        alone = np.bincount(row[~told], minlength=len(counts))
        sizes = np.where(told, _SIZE, 1.0 / np.sqrt(np.maximum(alone, 1))[row]).astype(np.float32)
        ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        blocks.append(sp.csr_array((sizes, codes.astype(np.int32), ends), shape=(len(counts), len(words))))
    return sp.csr_array(sp.vstack(blocks, format="csr")) if blocks else sp.csr_array((0, len(words)), dtype=np.float32)


def _usual_words(lists: pl.Series, fewest: float = _FEWEST_TEXTS, most: float = 0.5) -> list[str]:
    """Words that stand in at least `fewest` texts and in at most the share `most` of them; the most frequent first."""
    counts = lists.explode().drop_nulls().alias("word").value_counts(name="texts")
    counts = counts.filter(pl.col("texts").is_between(fewest, most * lists.len()))
    return list(counts.sort(["texts", "word"], descending=[True, False])["word"])


def _parts(texts: pl.Series, form: str) -> pl.Series:
    """Each text's different words and how it is written; of addresses their parts."""
    return parts_of(texts, form) if form else _words(texts).list.concat(_manner(texts))


def _manner(texts: pl.Series) -> pl.Series:
    """How each text is written.

    >>> import polars as pl
    >>> loud = _manner(pl.Series(["Buy NOW: https://shop.example !!"]))[0].to_list()
    >>> [said for said in loud if not said.startswith("fewer")]
    ['at least 4 words', '5% of its words in capitals', '10% of its words in capitals', ..., 'a link', 'an exclamation mark', 'several such marks at once']
    """
    text = pl.col("text")
    count, loud = text.str.count_matches(_WORD), text.str.count_matches(_LOUD)
    found = {f"at least {least} words": count >= least for least in _LONG}
    found |= {f"fewer than {least} words": count < least for least in _LONG}
    found |= {f"{share:.0%} of its words in capitals": (loud > 0) & (loud >= share * count) for share in _SHARES_LOUD}
    found |= {said: text.str.contains(sign) for said, sign in _SIGNS.items()}
    parts = [pl.when(there).then(pl.lit(said)) for said, there in found.items()]
    return texts.to_frame("text").select(pl.concat_list(parts).list.drop_nulls()).to_series()


def _words(texts: pl.Series) -> pl.Series:
    """Each text's different words, in small letters."""
    small = texts.str.to_lowercase()
    words = small.str.extract_all(_WORD)
    if small.str.contains(_PAIR).any():
        odd = small.str.replace_all(
            rf"(^|[^{_UNPARTED}])[{_UNPARTED}]", "$1"
        )  # the pairs that begin with a second letter
        words = words.list.concat([small.str.extract_all(_PAIR), odd.str.extract_all(_PAIR)])
    return words.list.unique()
