"""Texts as words: whether a column is prose or lists of words, by which words it is read, and which of them each text has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from calirare.data.tables.libraries import import_polars

if TYPE_CHECKING:
    import polars as pl

MOST_WORDS = 2_000
"""Of one column; the commonest are kept."""
_FEWEST_TEXTS = 5
"""In so many texts a word must stand to be known."""
_USUAL_WORDS = 4
"""So many words a typical text has; names and addresses of mail have fewer."""
_LETTERS = 0.6
"""Of a typical text, its spaces left out, so much is letters; of keys and numbers with signs in them it is less."""
_COME_AGAIN = 0.9
"""Of the things that lists name, so many stand in other lists too."""
_MOST_READ = 200_000
"""Texts from which words are learned, evenly chosen."""
_AT_ONCE = 65_536
_UNPARTED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts without blanks between words: any two letters that stand together count as one."""
_PAIR = rf"[{_UNPARTED}]{{2}}"
_WORD = rf"[\p{{L}}--[{_UNPARTED}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_UNPARTED}]]+"
_THING = r"[^;,|\[\]{}\"']*\p{L}[^;,|\[\]{}\"']*"
_APART = r"(?:^|[\s,;|])[\p{P}\p{S}]*\p{L}"
"""Where a word begins that stands apart, as those of an address of mail do not."""


def is_prose(texts: pl.Series) -> bool:
    """Whether known texts are sentences or descriptions rather than names or keys.

    >>> import polars as pl
    >>> is_prose(pl.Series(["Refund was refused, then paid twice", "asks for a new card again"]))
    True
    >>> is_prose(pl.Series(["Ada Lovelace", "Alan Turing"])), is_prose(pl.Series(["9f1c-22ab-77fe-1cd0-ab12-77fa"]))
    (False, False)
    """
    some = texts.gather_every(max(1, texts.len() // 10_000))
    if not some.len():
        return False
    letters = some.str.count_matches(r"\p{L}") / some.str.replace_all(r"\s", "").str.len_chars()
    words = some.str.count_matches(_APART).to_numpy() + some.str.count_matches(_PAIR).to_numpy()
    middle = float(np.median(words))
    return middle >= _USUAL_WORDS and float(np.nanmedian(letters.to_numpy())) >= _LETTERS


def is_list(texts: pl.Series) -> bool:
    """Whether known texts name several things each, all of which come again: `rock; live`, `["rock", "live"]`.

    >>> import polars as pl
    >>> is_list(pl.Series(["rock; live", "jazz; live", "rock; jazz; live"] * 5)), is_list(pl.Series(["Lovelace, Ada"]))
    (True, False)
    """
    some = texts.gather_every(max(1, texts.len() // 10_000))
    lists = some.str.to_lowercase().str.extract_all(_THING)
    if not some.len() or float(np.median(lists.list.len().to_numpy())) < 2:
        return False
    counts = lists.explode().drop_nulls().str.strip_chars().value_counts()["count"].to_numpy()
    return bool(counts[counts >= _FEWEST_TEXTS].sum() >= _COME_AGAIN * counts.sum())


def learn_words(texts: pl.Series) -> list[str]:
    """The words of a column, in order of the alphabet: those of some texts, but of no more than half of them.

    >>> import polars as pl
    >>> learn_words(pl.Series(["the red car", "The blue car"] * 5 + ["the end"] * 4 + [None]))
    ['blue', 'red']
    """
    pl = import_polars()
    known = texts.drop_nulls()
    some = known.gather_every(max(1, known.len() // _MOST_READ))
    counts = _words(some).explode().drop_nulls().alias("word").value_counts(name="texts")
    counts = counts.filter(pl.col("texts").is_between(_FEWEST_TEXTS, some.len() / 2))
    counts = counts.sort(["texts", "word"], descending=[True, False]).head(MOST_WORDS)
    return sorted(counts["word"].to_list())


def find_words(texts: pl.Series, words: Sequence[str]) -> sp.csr_array:
    """`(N, F)` float32: of each text the known words it has, all of equal size; together they have length one.

    >>> import polars as pl
    >>> find_words(pl.Series(["Red, red car", None, "a boat"]), ["car", "red"]).toarray()
    array([[0.70710677, 0.70710677],
           [0.        , 0.        ],
           [0.        , 0.        ]], dtype=float32)
    """
    pl = import_polars()
    known, blocks = pl.Enum(list(words)), []
    for start in range(0, texts.len(), _AT_ONCE):
        lists = _words(texts.slice(start, _AT_ONCE)).cast(pl.List(known), strict=False).list.drop_nulls().list.sort()
        counts = lists.list.len().fill_null(0).to_numpy()
        codes = lists.explode().drop_nulls().to_physical().to_numpy()
        sizes = np.repeat(1.0 / np.sqrt(np.maximum(counts, 1)), counts).astype(np.float32)
        ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        blocks.append(sp.csr_array((sizes, codes.astype(np.int32), ends), shape=(len(counts), len(words))))
    return sp.csr_array(sp.vstack(blocks, format="csr")) if blocks else sp.csr_array((0, len(words)), dtype=np.float32)


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
