"""A recipe of columns as it is stored: it makes the same columns, and is refused where it was edited."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calirare.data.graph import RareGraph
from calirare.errors import ModelFormatError
from calirare.features.recipe import ColumnRecipe


def columns_of(graph: RareGraph) -> dict[str, np.ndarray]:
    """The columns by name, as a recipe makes them that was stored meanwhile."""
    columns = ColumnRecipe.restore(ColumnRecipe.learn(graph).state()).apply(graph)
    return dict(zip(columns.names, columns.values.T.astype(float), strict=True))


def check_refused(state: dict[str, Any], part: str, *damages: dict[str, Any]) -> None:
    """No recipe has such a state with one of these in its `part`, `"own"` or `"edges"`."""
    for damage in damages:
        with pytest.raises(ModelFormatError, match="edited"):
            ColumnRecipe.restore({**state, part: {**state[part], **damage}})
