"""Which nodes train, validate and test."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calirare.data.arrays import as_array, as_indices
from calirare.errors import InputError


@dataclass(frozen=True, eq=False)
class Split:
    """Which nodes train, validate and test: int64 node indices, pairwise disjoint.

    Args:
        train: `(n,)` node indices, or an `(N,)` mask.
        val: Likewise; default: none.
        test: Likewise; default: none.

    >>> split = Split(train=[4, 0], val=np.array([False, True, False, False, False]))
    >>> split.train.tolist(), split.val.tolist(), split.test.size, split.labelled.tolist()
    ([4, 0], [1], 0, [0, 1, 4])
    """

    train: np.ndarray
    val: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    test: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        roles = {}
        for name in ("train", "val", "test"):
            nodes = as_array(getattr(self, name), f"Split.{name}")
            if nodes.ndim != 1 or (nodes.size and nodes.dtype.kind not in "biu"):
                raise InputError(
                    f"Split.{name} must be a one-dimensional array of node indices; "
                    f"got {nodes.dtype} of shape {nodes.shape}."
                )
            roles[name] = np.flatnonzero(nodes) if nodes.dtype == bool else as_indices(nodes, f"Split.{name}")
            object.__setattr__(self, name, roles[name])
        merged = np.concatenate(list(roles.values()))
        if merged.size and merged.min() < 0:
            raise InputError(f"Split indices must be non-negative; got {int(merged.min())}.")
        values, counts = np.unique(merged, return_counts=True)
        if (counts > 1).any():
            shown = values[counts > 1][:5].tolist()
            raise InputError(
                f"train, val and test of a Split must be disjoint and free of repeats; node {shown} appears more than once."
            )

    def __repr__(self) -> str:
        return f"Split({self.train.size:,} train, {self.val.size:,} val, {self.test.size:,} test)"

    @property
    def roles(self) -> dict[str, np.ndarray]:
        """The nodes by role: `train`, `val`, `test`."""
        return {"train": self.train, "val": self.val, "test": self.test}

    def masks(self, num_nodes: int) -> dict[str, np.ndarray]:
        """The same as masks `(N,)`, under the names that PyG gives them: `train_mask`, `val_mask`, `test_mask`."""
        return {f"{role}_mask": np.isin(np.arange(num_nodes), nodes) for role, nodes in self.roles.items()}

    @property
    def labelled(self) -> np.ndarray:
        """Train and validation nodes together, sorted: every label a method may read."""
        return np.sort(np.concatenate([self.train, self.val]))
