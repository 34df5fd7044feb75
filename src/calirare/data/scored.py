"""Which nodes are looked at where there are several kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def scored_nodes(
    node_type: np.ndarray, names: Sequence[str], known: np.ndarray, schema: Mapping[str, Any] | None
) -> np.ndarray:
    """`(N,)` mask of the nodes of the kinds that carry labels, now or at fit; of all where none does.

    Args:
        node_type: `(N,)` codes of their kinds.
        names: Of the kinds.
        known: `(N,)` mask or places of the nodes whose labels are known.
        schema: Of the fit.

    >>> scored_nodes(np.array([0, 1, 0]), ("user", "device"), np.array([2]), None).tolist()
    [True, False, True]
    """
    kinds = set(node_type[known].tolist())
    at_fit = ((schema or {}).get("nodes") or {}).get("labelled") or ()
    kinds |= {code for code, name in enumerate(names) if name in at_fit}
    return np.isin(node_type, list(kinds)) if kinds else np.ones(node_type.size, dtype=bool)
