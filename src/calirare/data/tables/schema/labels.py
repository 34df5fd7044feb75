"""Labels from a column: one value is rare, the others are not, nulls are unknown."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calirare.data.against_rest import names_of_two, rare_or_not
from calirare.data.arrays import UNKNOWN
from calirare.data.tables.cells.columns import commonest, to_categories
from calirare.data.tables.cells.spellings import known_spellings, merge_spellings, same_spelling
from calirare.data.tables.cells.text import FALSE_WORDS, MISSING_WORDS, NOT_KNOWN, WHOLE_WITH_POINT
from calirare.data.tables.libraries import pl
from calirare.errors import InputError, LabelError

logger = logging.getLogger(__name__)


_NO_VERDICT = (
    *("undefined", "undetermined", "undecided", "unsure", "inconclusive", "pending", "tbd", "to be determined"),
    *("in progress", "in review", "under review", "under investigation", "not reviewed", "unreviewed"),
    *("not tested", "untested", "not assessed", "not checked", "unchecked", "in prüfung", "ungeprüft", "nicht geprüft"),
    *("in abklärung", "in bearbeitung", "en cours", "en attente", "pendiente", "pendente", "em análise", "in attesa"),
    *("未確認", "未定", "調査中", "確認中", "待定", "待查", "待审核"),
)
MISSING_LABELS = (*MISSING_WORDS, *NOT_KNOWN, *_NO_VERDICT)
"""What counts as an unknown label, in upper or lower case, whatever the type of the column."""
_SAYS_NO = {
    *FALSE_WORDS, "0", "nein", "non", "nee", "nej", "não", "nie", "normal", "benign", "legit", "legitimate", "genuine", "clean",
    "clear", "cleared", "negative", "healthy", "good", "ok", "ham",
}  # fmt: skip
"""Labels beside which `none` says that nobody knows, not that there is nothing."""

MAX_LABELS = 1_000
MAX_LABEL_LENGTH = 200


@dataclass(frozen=True)
class Labels:
    """`y` is 1 for rare, 0 for the rest, UNKNOWN for null; `original_y` indexes `values`.

    `words` counts the words that were taken for a missing label; None where there is no column of labels. `spellings` are
    the ways in which a class is written beside its name, with that name and how often.
    """

    y: np.ndarray
    original_y: np.ndarray
    class_names: tuple[str, str]
    rare: str
    values: list[str]
    words: dict[str, int] | None = None
    spellings: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Any]:
        """What was read, for `schema["read"]`; nothing where there was no column of labels."""
        if self.words is None:
            return {}
        known = int((self.y != UNKNOWN).sum())
        counts = {"known": known, "missing": int(self.y.size) - known, "missing_words": self.words}
        spelled = {word: {"class": name, "count": count} for word, (name, count) in self.spellings.items()}
        return {"labels": {**counts, "spellings": spelled}}


def learn_labels(column: pl.Series, rare: Any) -> Labels:
    """Labels of a table that a model will be fitted on.

    Args:
        column: The label column.
        rare: The rare value; `"1"` matches 1, 1.0 and yes, `"true"` matches True. Other spellings of a class are its labels too.

    Raises:
        LabelError: No label at all, a single class, or no node with the rare value.
    """
    ways = _ways_to_write(rare)
    text, words = known_labels(column, ways)
    values = sorted(text.drop_nulls().unique().to_list())
    note = f" {', '.join(map(repr, words))} count{'s' * (len(words) == 1)} as unknown." if words else ""
    if any(word.lower() == "none" for word in words):
        note += " If 'none' says that there is nothing, write 'no'."
    if not values:
        raise LabelError(f"column {column.name!r} must label some nodes; every value is missing.{note}")
    if len(values) > MAX_LABELS or max(map(len, values)) > MAX_LABEL_LENGTH:
        raise LabelError(
            f"column {column.name!r} must hold at most {MAX_LABELS} different labels of at most {MAX_LABEL_LENGTH} "
            f"characters; it holds {len(values):,}, the longest of {max(map(len, values)):,}. Is it the label column?"
        )
    if rare is None:
        raise InputError(f"rare must be given: one of the values {values[:12]}.")
    word = _match(ways, commonest(text))
    if word is None:
        shown = values if len(values) <= 12 else [*values[:12], "…"]
        raise LabelError(f"rare must be one of the values in column {column.name!r}: {shown}; got {rare!r}.{note}")
    text, spellings = _respelled(text, merge_spellings(text, word))
    if spellings:
        told = ", ".join(f"{word!r} ({count}) as {name!r}" for word, (name, count) in spellings.items())
        logger.warning("column %r: spellings of one class are read as one: %s.", text.name, told)
    values = [value for value in values if value not in spellings]
    if len(values) == 1:
        raise LabelError(
            f"column {column.name!r} must hold at least two classes; every labelled node is {word!r}. "
            f"Label some nodes that are not rare (nulls mean unknown).{note}"
        )
    return _labels(text, word, values, words, spellings)


def known_labels(
    column: pl.Series, classes: Sequence[str], as_written: Sequence[str] = ()
) -> tuple[pl.Series, dict[str, int]]:
    """The labels as text, null where unknown, and how often each word stood for an unknown one.

    So does -1 beside two or more whole numbers from 0 on. What is among `classes`, in upper or lower case, is a class, however
    it reads, and so is "none" where it says that there is nothing. "1.0", as programs write a 1 beside gaps, is "1" unless it
    is among those that stay `as_written`, the classes of a fit.

    >>> import polars as pl
    >>> known_labels(pl.Series(["yes", "NA", "", "Unknown"]), ["yes"])[1]
    {'NA': 1, 'Unknown': 1}
    >>> known_labels(pl.Series([0, 1, -1]), ["1"])[1], known_labels(pl.Series([1, -1]), ["1"])[1]
    ({'-1': 1}, {})
    >>> attacks = ["none", "none", "phishing", "worm", "worm"]
    >>> known_labels(pl.Series(attacks), ["worm"])[1], known_labels(pl.Series([*attacks, "virus"]), ["worm"])[1]
    ({'none': 2}, {})
    """
    text = _whole(to_categories(column), as_written)
    lower = text.str.to_lowercase()
    missing = lower.is_in(MISSING_LABELS).fill_null(False)
    values = {str(value) for value in text.filter(~missing).drop_nulls().unique().to_list()}
    if len(values) > 2 and all(value.isdecimal() for value in values - {"-1"}):
        missing |= (text == "-1").fill_null(False)
    missing &= ~lower.is_in([one.lower() for one in classes]).fill_null(False)
    none = missing & (lower == "none").fill_null(False)
    if none.any() and not as_written and _is_nothing(lower, missing & ~none, classes):
        logger.warning("column %r: %d labels are 'none', which is read as a class. If nobody knows these, empty them.", column.name, none.sum())  # fmt: skip
        missing &= ~none
    found = text.filter(missing)
    words = {str(word): int((found == word).sum()) for word in sorted(found.unique().to_list())}
    if words:
        logger.warning(
            "column %r: %d labels count as unknown: %s.",
            column.name, found.len(), ", ".join(f"{word!r} ({count})" for word, count in words.items()),
        )  # fmt: skip
    return text.set(missing, None), words


def _is_nothing(lower: pl.Series, missing: pl.Series, classes: Sequence[str]) -> bool:
    """Whether `none` says that there is nothing: no other class beside the `classes`, or none that says so.

    With at most one class beside the rare one it may be either (`spam`, `eggs`, `none`), unless other cells are empty.
    """
    others = set(lower.filter(~missing).drop_nulls().to_list()) - {"none", *(one.lower() for one in classes)}
    empty = missing.any() or lower.null_count() > 0
    return others.isdisjoint(_SAYS_NO) and (empty or len(others) > 1)


def _whole(text: pl.Series, as_written: Sequence[str]) -> pl.Series:
    whole = text.str.replace(WHOLE_WITH_POINT, "$1")
    return text.zip_with(text.is_in(list(as_written)), whole) if as_written else whole


def apply_labels(column: pl.Series, label: Mapping[str, Any], rare: Any = None) -> Labels:
    """Labels of a table that is scored: the values of the fit keep their meaning, new ones are unknown."""
    if rare is not None and _match(rare, label["values"]) != label["rare"]:
        raise InputError(f"rare must be that of the fit, {label['rare']!r}, where a schema is given; got {rare!r}.")
    text, words = known_labels(column, label["values"], label["values"])
    same = known_spellings(label["values"], text.drop_nulls().unique().to_list())
    text, spellings = _respelled(text, same)
    foreign = text.is_not_null() & ~text.is_in(label["values"])
    if foreign.any():
        logger.warning(
            "column %r: %d labels that the fit did not know, such as %r, count as unknown.",
            column.name, foreign.sum(), text.filter(foreign)[0],
        )  # fmt: skip
    return _labels(text, label["rare"], label["values"], words, spellings)


def no_labels(num_nodes: int, label: Mapping[str, Any] | None) -> Labels:
    """All unknown, under the class names of the fit."""
    unknown = np.full(num_nodes, UNKNOWN, dtype=np.int64)
    if label is None:
        return Labels(unknown, unknown, ("normal", "rare"), "rare", ["normal", "rare"])
    return Labels(unknown, unknown, names_of_two(label["values"], label["rare"]), label["rare"], label["values"])


def _respelled(text: pl.Series, same: Mapping[str, str]) -> tuple[pl.Series, dict[str, tuple[str, int]]]:
    """Every class by its name, and how often it was written in another way."""
    found = {word: (name, int((text == word).sum())) for word, name in same.items()}
    return text.replace(dict(same)), found


def _labels(
    text: pl.Series, rare: str, values: list[str], words: dict[str, int], spellings: dict[str, tuple[str, int]]
) -> Labels:
    place = text.replace_strict(values, list(range(len(values))), default=None, return_dtype=pl.Int64)
    original_y = np.array(place.fill_null(UNKNOWN).to_numpy(), dtype=np.int64)
    y = rare_or_not(original_y, values.index(rare))
    return Labels(y, original_y, names_of_two(values, rare), rare, values, words, spellings)


def _ways_to_write(rare: Any) -> list[str]:
    """The rare value as a label column would hold it: as it is, and "1.0" as "1"; none where it is no single value."""
    try:
        word = to_categories(pl.Series("rare", [rare]))[0]
    except (TypeError, InputError, pl.exceptions.PolarsError):
        return []
    if word is None:
        return []
    ways = [str(word)]
    with contextlib.suppress(ValueError, OverflowError):
        ways.append(str(to_categories(pl.Series("rare", [float(ways[0])]))[0]))
    return ways


def _match(ways: Sequence[str], values: list[str]) -> str | None:
    """The value that is meant: one that is written so, else the first that says the same."""
    key = same_spelling(values)
    exact = (way for way in ways if way in values)
    alike = (value for way in ways for value in values if key(value) == key(way))
    return next(exact, None) or next(alike, None)
