"""What was counted at reading, in words: rows that repeat, labels that were read as others, gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calirare.data.graph import RareGraph

_ROWS = {
    "duplicates": "further rows between the same two nodes",
    "copies": "rows of edges that repeat another in every column",
    "same": "rows that join nodes to a value they have in common",
    "self_loops": "rows from a node to itself",
    "zero_weights": "rows of weight zero",
    "unknown_ends": "rows to unknown nodes, dropped",
}
_VALUES = {
    "imputed": "gaps filled in",
    "unreadable": "values that cannot be read, in",
    "infinite": "infinite values, which count as missing, in",
    "unseen": "values never seen at fit, in",
    "rare": "values of rare categories, in",
}
_MOST_COLUMNS = 5
"""Counts of more columns than this are added up."""


def describe_counts(schema: Mapping[str, Any] | None) -> dict[str, int]:
    """Counts by what they count, without those that are zero.

    >>> describe_counts({"read": {"edges": {"rows": 9, "self_loops": 2}, "imputed": {"age": 7}}})
    {'rows from a node to itself': 2, 'gaps filled in age': 7}
    """
    read = (schema or {}).get("read") or {}
    found = {"nodes that no table of nodes has": read.get("nodes", {}).get("named_alone", 0)}
    found |= {_ROWS[name]: count for name, count in read.get("edges", {}).items() if name in _ROWS}
    labels = read.get("labels", {})
    for word, count in labels.get("missing_words", {}).items():
        found[f"labels {word!r}, which count as unknown"] = count
    for word, spelled in labels.get("spellings", {}).items():
        found[f"labels {word!r}, which count as {spelled['class']!r}"] = spelled["count"]
    for name, words in _VALUES.items():
        for counts, whose in values_counted(schema):
            columns = counts.get(name, {})
            many = len(columns) > _MOST_COLUMNS
            found |= (
                {f"{words} {len(columns)} columns{whose}": sum(columns.values())}
                if many
                else {f"{words} {column}{whose}": count for column, count in columns.items()}
            )
    return {words: count for words, count in found.items() if count}


def num_pending(graph: RareGraph) -> int:
    """How many labels are a word that counts as unknown, such as `pending`."""
    return sum(graph.schema_of("read").get("labels", {}).get("missing_words", {}).values())


def values_counted(schema: Mapping[str, Any] | None) -> list[tuple[Mapping[str, Any], str]]:
    """What was counted in the columns of nodes and of edges, which may share a name, and whose they are in words.

    >>> values_counted({"read": {"infinite": {"fee": 1}, "edge_values": {"infinite": {"fee": 2}}}})[1]
    ({'infinite': {'fee': 2}}, ' of edges')
    """
    read = (schema or {}).get("read") or {}
    return [(read, ""), (read.get("edge_values") or {}, " of edges")]
