"""Labels in a table of their own."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from calirare.data.tables.gathering.ids import text_ids, why_lost
from calirare.data.tables.gathering.naming import find_id
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows, same_types
from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.frames import pick_column
from calirare.errors import InputError

logger = logging.getLogger(__name__)


def id_of_labels(table: pl.DataFrame, id: str | None) -> str:
    """The id column of a table of labels."""
    return find_id(table, id if id in table.columns else None, "labels")


def with_labels(
    rows: NodeRows, table: pl.DataFrame, id: str | None, label: str | None, edges: EdgeRows
) -> tuple[NodeRows, str]:
    """The nodes with the label column of another table; nodes that only that table names are added.

    Raises:
        InputError: The labels are of no node that is known.
    """
    own_id = id_of_labels(table, id)
    others = [name for name in table.columns if name != own_id]
    if not others:
        raise InputError(f"labels must have two columns, the id and the label; got {table.columns}.")
    column = others[0] if label is None else pick_column(table.columns, label, "label", "labels")
    if rows.id == column or column in rows.frame.columns:
        raise InputError(f"label must stand in one table; {column!r} is a column of the nodes and of the labels table.")
    left, right = same_types([rows.frame, _one_label_each(rows, table, own_id, column)])
    joined = left.join(right, on=rows.id, how="left", maintain_order="left")
    extra = right.join(left, on=rows.id, how="anti", maintain_order="left")
    if left.height and extra.height == right.height:
        ends = [table[end] for table in edges.tables for end in ("source", "target")]
        raise InputError(
            f"labels must name nodes of the other tables; none of the {right.height:,} ids in column {own_id!r} is there, "
            f"first: {right[rows.id].head(3).to_list()}. {why_lost(left[rows.id], right[rows.id])} Ids are read from column "
            f"{rows.id!r} of the nodes and columns {ends} of the edges; name others with --id, --source and --target."
        )
    if not extra.height:
        return replace(rows, frame=joined), column
    logger.warning(
        "%d of %d ids of the labels table are in no other table, first: %s; each is a node without edges and attributes.",
        extra.height, right.height, extra[rows.id].head(3).to_list(),
    )  # fmt: skip
    kinds = rows.type
    if kinds is not None:
        labelled = kinds[joined[column].is_not_null().to_numpy()]
        usual = int(np.bincount(labelled).argmax())  # what carries labels is of one kind, with few exceptions
        kinds = np.append(kinds, np.full(extra.height, usual))
    return replace(rows, frame=pl.concat([joined, extra], how="diagonal"), type=kinds), column


def _one_label_each(rows: NodeRows, table: pl.DataFrame, own_id: str, column: str) -> pl.DataFrame:
    """Id and label, the id called as in the nodes, without rows that repeat another."""
    found = table.select(pl.col(own_id).alias(rows.id), pl.col(column))
    if rows.frame[rows.id].dtype == pl.String:
        found = found.with_columns(text_ids(found[rows.id]))
    found = found.unique(maintain_order=True)
    found = found.filter(~(found[column].is_null() & found[rows.id].is_duplicated()))
    repeated = found.filter(found[rows.id].is_duplicated())[rows.id].unique(maintain_order=True)
    if repeated.len():
        ids = "id has" if repeated.len() == 1 else "ids have"
        raise InputError(
            f"column {own_id!r} of the labels table must name every node once, or with one label; {repeated.len():,} {ids} "
            f"several, first: {repeated.head(5).to_list()}."
        )
    return found
