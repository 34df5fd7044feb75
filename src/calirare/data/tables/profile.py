"""What the columns of a graph looked like, in a few numbers each: shares of their values, range, gaps.

A profile is plain data. Numbers are kept in the units of the features (standardised with what the fit learned), so that the
same table gives the same shares to the last digit.

    number      {"count", "cuts", "shares", "least", "greatest", "middle"}: shares of the values between the cuts, which
                are the deciles of the fit
    category    {"count", "names", "shares"}: shares of the names, and last of all others
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable

BINS = 10
_MOST = 1_000_000
"""Values from which cuts are taken; more change no cut that matters."""


def profile_tables(
    x: Any, plan: Mapping[str, Any], edges: EdgeTable | None, seen: Mapping[str, Any] | None = None
) -> dict[str, dict[str, Any]]:
    """A profile of every attribute, of every column of the edges but times, and of the number of edges of a node.

    Args:
        x: Features.
        plan: The schema that made them.
        edges: The edges as they came.
        seen: A profile to take the cuts and names from, so that both can be compared.
    """
    known = seen or {"nodes": {}, "edges": {}}
    nodes = _profile_nodes(x, plan, known["nodes"])
    if edges is None:
        return {"nodes": nodes, "edges": {}}
    found: dict[str, Any] = {}
    for column in edges.columns:
        like = known["edges"].get(column.name)
        if column.kind == "number":
            found[column.name] = of_numbers(column.values, like)
        elif column.kind == "category":
            codes = column.values[column.values >= 0]
            found[column.name] = of_categories(np.bincount(codes, minlength=len(column.categories)), column.categories)
    degree = np.bincount(np.concatenate([edges.source, edges.target]), minlength=x.shape[0])
    found[EDGES_PER_NODE] = of_numbers(degree.astype(np.float64), known["edges"].get(EDGES_PER_NODE))
    return {"nodes": nodes, "edges": found}


EDGES_PER_NODE = "(edges per node)"


def _profile_nodes(x: Any, plan: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    place = 0
    for column in plan["columns"]:
        width = {"numeric": 1, "categorical": len(column.get("categories", ()))}.get(column["type"], 0)
        gap = bool(column.get("indicator")) and width > 0
        if column["type"] == "numeric":
            values = _dense(x, place).astype(np.float64)
            if gap:
                values = np.where(_dense(x, place + 1) > 0, np.nan, values)
            found[column["name"]] = of_numbers(values, seen.get(column["name"]))
        elif width:
            counts = np.asarray(x[:, place : place + width].sum(axis=0)).ravel()
            filled = x.shape[0] - (int((_dense(x, place + width) > 0).sum()) if gap else 0)
            found[column["name"]] = of_categories(counts, column["categories"], filled)
        place += width + gap
    return found


def of_numbers(values: np.ndarray, like: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The profile of numbers, with the cuts of another where one is given.

    >>> of_numbers(np.arange(100.0))["shares"]
    [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    """
    known = values[~np.isnan(values)]
    if like is not None:
        cuts = np.asarray(like["cuts"], dtype=np.float64)
    else:
        some = known[:: max(1, known.size // _MOST)]
        cuts = np.unique(np.quantile(some, np.arange(1, BINS) / BINS, method="lower")) if some.size else np.empty(0)
    counts = np.bincount(np.searchsorted(cuts, known, side="left"), minlength=cuts.size + 1)
    shares = counts / max(known.size, 1)
    return {
        "kind": "number",
        "count": int(known.size),
        "cuts": cuts.tolist(),
        "shares": shares.tolist(),
        "least": float(known.min(initial=np.inf)) if known.size else 0.0,
        "greatest": float(known.max(initial=-np.inf)) if known.size else 0.0,
        "middle": float(np.median(known)) if known.size else 0.0,
        "outside": _outside(known, like),
    }


def _outside(known: np.ndarray, like: Mapping[str, Any] | None) -> int:
    return 0 if like is None else int(((known < like["least"]) | (known > like["greatest"])).sum())


def of_categories(counts: np.ndarray, names: Sequence[str], filled: int | None = None) -> dict[str, Any]:
    """The profile of categories; what is none of the names counts as other."""
    total = int(counts.sum()) if filled is None else filled
    other = max(total - float(counts.sum()), 0.0)
    shares = np.append(counts, other) / max(total, 1)
    return {"kind": "category", "count": total, "names": list(names), "shares": shares.tolist()}


def _dense(x: Any, k: int) -> np.ndarray:
    return np.asarray(x[:, [k]].toarray().ravel() if sp.issparse(x) else x[:, k])


def check_profile(seen: Any) -> bool:
    """Whether this is what `profile_tables` gives."""
    good = isinstance(seen, Mapping)
    for table in ("nodes", "edges"):
        for one in seen[table].values():
            cells = len(one["cuts"]) + 1 if one["kind"] == "number" else len(one["names"]) + 1
            good &= len(one["shares"]) == cells and all(0 <= float(share) <= 1 + 1e-9 for share in one["shares"])
            good &= int(one["count"]) >= 0
            if one["kind"] == "number":
                numbers = [*one["cuts"], one["least"], one["greatest"], one["middle"]]
                good &= bool(np.isfinite(np.asarray(numbers, dtype=np.float64)).all())
    return bool(good)
