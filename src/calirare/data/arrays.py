"""What users pass as arrays: checked, and turned into the types that everything else reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.errors import InputError, LabelError

UNKNOWN = -1
"""The label of a node whose class is not known."""
_LEAST_AGREEMENT = 0.5
"""Cohen's kappa of labels then and now: 1 where all are the same, 0 by luck."""

LARGEST = float(np.finfo(np.float32).max)
"""The largest number that a feature or a column can hold."""


def as_array(value: Any, name: str) -> np.ndarray:
    """`value` as an array of any type, or an error that names the argument.

    >>> as_array([[1], [2, 3]], "y")
    Traceback (most recent call last):
    calirare.errors.InputError: y must be an array whose rows are of equal length; got list.
    """
    if np.ma.is_masked(value):
        raise InputError(f"{name} must not have masked values; fill them in: {name}.filled(…).")
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # torch raises the last for tensors that record gradients
        raise InputError(
            f"{name} must be an array whose rows are of equal length; got {type(value).__name__}."
        ) from None


def as_indices(value: Any, name: str) -> np.ndarray:
    """`value` as int64. Whole numbers stored as floats are welcome; text, fractions, NaN and truth values are not.

    >>> as_indices([0.0, 2.0], "edge_index")
    array([0, 2])
    """
    array = as_array(value, name)
    if not array.size:
        return array.astype(np.int64) if array.dtype.kind in "iuf" else np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iuf" or array.dtype.kind == "f" and not (array == np.floor(array)).all():
        found = "fractions or NaN" if array.dtype.kind == "f" else array.dtype
        raise InputError(f"{name} must hold whole numbers; got {found}.")
    least, most = array.min().item(), array.max().item()
    if not -(2**63) <= least <= most < 2**63:
        raise InputError(f"{name} must hold whole numbers below 2⁶³; got {least} to {most}.")
    return array.astype(np.int64, copy=False)


def all_below(indices: np.ndarray, size: int) -> bool:
    """Whether all of them lie in 0…size - 1.

    >>> all_below(np.array([2, 0]), 3), all_below(np.array([3]), 3), all_below(np.array([-1]), 3), all_below(np.empty(0), 0)
    (True, False, False, True)
    """
    return not indices.size or bool(0 <= indices.min() and indices.max() < size)


def as_nodes(value: Any, num_nodes: int) -> np.ndarray:
    """Indices `(n,)` from indices or a mask over all nodes.

    >>> as_nodes([2, 0], 3).tolist(), as_nodes(np.array([False, True, True]), 3).tolist()
    ([2, 0], [1, 2])
    """
    chosen = as_array(value, "nodes")
    if chosen.dtype == bool and chosen.shape == (num_nodes,):
        return np.flatnonzero(chosen)
    fits = chosen.ndim == 1 and (not chosen.size or chosen.dtype.kind in "iu")
    if not fits or not all_below(chosen, num_nodes):
        raise LabelError(f"nodes must list node indices in 0…{num_nodes - 1}, or be a mask over all {num_nodes} nodes.")
    return chosen.astype(np.int64)


def as_floats(value: Any, name: str) -> np.ndarray:
    """`value` as float32, contiguous and finite.

    >>> as_floats([1, 2], "edge_weight")
    array([1., 2.], dtype=float32)
    """
    return np.ascontiguousarray(_finite(as_array(value, name), name))


def as_doubles(value: Any, name: str) -> np.ndarray:
    """`value` as float64, finite.

    >>> as_doubles([[0, 1.5]], "logits")
    array([[0. , 1.5]])
    """
    array = as_array(value, name)
    try:
        array = array.astype(np.float64) if array.dtype.kind in "biufO" else array
    except (TypeError, ValueError, OverflowError):
        pass
    if array.dtype != np.float64:
        raise InputError(f"{name} must be an array of numbers; got {type(value).__name__} of {array.dtype}.")
    bad = int((~np.isfinite(array)).sum())
    if bad:
        raise InputError(f"{name} must be finite; {bad} values are NaN or infinite.")
    return array


def as_dense(block: Any) -> np.ndarray:
    """A block of numbers as an array, whether it is sparse or not.

    >>> as_dense(sp.csr_array(np.eye(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return np.asarray(block.toarray() if sp.issparse(block) else block)


def by_column(x: Any) -> Any:
    """Features ready to be read column by column: sparse ones as a copy in CSC."""
    return x.tocsc() if sp.issparse(x) else x


def column_of(x: Any, k: int) -> np.ndarray:
    """`(N,)` float64: one column of features, sparse or not."""
    return as_dense(x[:, [k]])[:, 0].astype(np.float64)


def as_features(x: Any) -> np.ndarray | sp.csr_array:
    """Node features as a finite float32 `(N, F)` array, or as CSR where they are sparse."""
    if not sp.issparse(x):
        dense = as_floats(x, "x")
        if dense.ndim != 2:
            raise InputError(f"x must have two dimensions, nodes and features; got shape {dense.shape}.")
        return dense
    matrix = sp.csr_array(x)
    if matrix.ndim != 2:
        raise InputError(f"x must have two dimensions, nodes and features; got shape {matrix.shape}.")
    try:
        matrix.check_format(full_check=True)  # an index beyond the columns would be read from foreign memory
    except ValueError as error:
        raise InputError(f"x must be a valid sparse matrix; {error}.") from None
    values = _finite(matrix.data, "x")
    own = sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    if not own.has_canonical_format:
        own = own.copy()  # duplicates are summed in place, and these arrays are the user's
        with np.errstate(over="ignore"):
            own.sum_duplicates()
        _finite(own.data, "x")
    return own


def check_chances(probability: Any) -> np.ndarray:
    """`probability` as float64 `(n,)`: one number in [0, 1] per node."""
    p = np.asarray(probability, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("probability must hold one number in [0, 1] per node.")
    return p


def _finite(array: np.ndarray, name: str) -> np.ndarray:
    try:
        array = array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError, OverflowError):
        pass
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{name} must hold numbers; got {array.dtype}. read_tables turns words and dates into numbers."
        )
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float32, copy=False)
    bad = int((~np.isfinite(numbers)).sum())
    if bad:
        raise InputError(
            f"{name} must be finite; {bad} values are NaN or infinite, or beyond {LARGEST:.1e}. "
            "Impute, scale or drop them, or use read_tables, which imputes and scales."
        )
    return numbers


def labels_agree(then: np.ndarray, now: np.ndarray) -> bool:
    """Whether labels are those of another time, as far as they are known now; a few may have been corrected.

    >>> fit, shuffled = np.array([0, 0, 0, 0, 1, 1]), np.array([1, 0, 1, 0, 0, 0])
    >>> [labels_agree(fit, now) for now in (np.array([0, 0, 0, -1, 1, 1]), np.array([1, 0, 0, 0, 1, 1]), shuffled)]
    [True, True, False]
    """
    known = now != UNKNOWN
    if not known.any():
        return False
    then, now = then[known], now[known]
    classes = np.arange(1 + max(then.max(), now.max()))[:, None]
    by_luck = float(((then == classes).mean(axis=1) * (now == classes).mean(axis=1)).sum())
    same = float((then == now).mean())
    return by_luck < 1 and same - by_luck >= _LEAST_AGREEMENT * (1 - by_luck)
