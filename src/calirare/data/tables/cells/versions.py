"""Texts that are versions of something: 3.10 is not 3.1, and comes after 3.9."""

from __future__ import annotations

from calirare.data.tables.libraries import pl

_MOST = 20
"""Different versions that are told by their texts alone."""
_TWO_PARTS = r"^\d{1,4}(\.\d{1,3})?$"
_THREE_PARTS = r"^\d{1,4}(\.(0|[1-9]\d{0,2})){2}$"
"""Matches 2024.1.3, which would be a date, but not 2024.01.03."""
_LAST_ZERO = r"\.\d+0$"


def are_versions(known: pl.Series) -> bool:
    """Whether few different texts are versions such as 3.9 and 3.10: no program writes a zero behind some decimals and not others.

    People do, but no version has 1.00 or 0.05.

    >>> import polars as pl
    >>> [are_versions(pl.Series(some)) for some in (["3.9", "3.10"], ["3.90", "3.10"], ["3.9", "10.0"], ["3.9", "3.11"])]
    [True, False, False, False]
    >>> are_versions(pl.Series(["0.5", "1.00"])), are_versions(pl.Series(["0.5", "0.05", "0.10"]))
    (False, False)
    """
    if not known.head(1000).str.contains(_LAST_ZERO).any():
        return False
    some = known.unique()
    if some.len() > _MOST or not some.str.contains(_TWO_PARTS).all():
        return False
    behind = some.str.extract(r"\.(\d+)$", 1).drop_nulls()
    if behind.str.contains(r"^0\d").any():
        return False
    return bool(behind.filter(behind.str.ends_with("0")).str.len_chars().max() > behind.str.len_chars().min())  # type: ignore[operator]


def like_versions(known: pl.Series, most: int) -> bool:
    """Whether texts under the name of a version are versions: amounts, as of a `co2_release`, hardly repeat.

    Args:
        known: The texts.
        most: Different versions.

    >>> import polars as pl
    >>> like_versions(pl.Series(["1.2", "2.0"] * 9), 100), like_versions(pl.Series(["1.2", "2.0"]), 100)
    (True, False)
    """
    if not known.str.contains(r"\d\.\d").any() or known.n_unique() > min(most, known.len() / 2):
        return False
    return bool((known.str.contains(_TWO_PARTS) | known.str.contains(_THREE_PARTS)).all())
