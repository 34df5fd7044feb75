"""What sentences call a class."""

from __future__ import annotations

_YES = "yes y true t ja oui vrai si sí sim tak ano да evet 是 はい 예 نعم"
_NO = "no n false f nein nee nej non faux não nie ne нет hayır 否 いいえ 아니요 لا"
_BARE = {*_YES.split(), *_NO.split()}
"""Class names that say nothing without the name of their column."""


def say_class(name: str, label_column: str | None = None) -> str:
    """The name of a class; of one that is called "yes", "no" or a number, with its column.

    >>> say_class("yes", "is_fraud"), say_class("fraud", "is_fraud"), say_class("yes")
    ('is_fraud = yes', 'fraud', 'yes')
    """
    bare = name.casefold() in _BARE or name.replace(".", "", 1).isdigit()
    return f"{label_column} = {name}" if bare and label_column else name
