"""Saying which promise was broken, and finding the members of a family."""

from __future__ import annotations

import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import torch
from sklearn.base import clone

from calirare.errors import CalirareError, ContractError


def require(kept: bool, who: object, promise: str) -> None:
    """Raise unless the promise was kept."""
    if not kept:
        raise ContractError(f"{type(who).__name__} breaks a promise: {promise}.")


def require_probabilities(table: Any, shape: tuple[int, int], who: object) -> None:
    """A float64 table of that shape, in [0, 1], rows summing to one."""
    fits = isinstance(table, np.ndarray) and table.shape == shape and table.dtype == np.float64
    require(fits, who, f"it gives a float64 array of shape {shape}; got {describe(table)}")
    within = bool(np.isfinite(table).all()) and bool((table >= 0).all())
    require(within and bool(np.abs(table.sum(axis=1) - 1).max() < 1e-9), who, "rows are probabilities that sum to one")


def require_logits(table: Any, shape: tuple[int, ...], who: object, what: str) -> None:
    """A finite float64 table of that shape."""
    fits = isinstance(table, np.ndarray) and table.shape == shape and table.dtype == np.float64
    require(fits, who, f"{what} is a float64 array of shape {shape}; got {describe(table)}")
    require(bool(np.isfinite(table).all()), who, f"{what} holds finite numbers")


def require_refusal(call: Callable[[], object], who: object, promise: str) -> None:
    """The call must end in one of our errors."""
    try:
        call()
    except CalirareError:
        return
    except Exception as error:
        raise ContractError(f"{type(who).__name__} breaks a promise: {promise}; it raised {error!r}.") from error
    require(False, who, promise)


def attempt(call: Callable[[], Any], who: object, promise: str) -> Any:
    """What the call gives; an error is a broken promise."""
    try:
        return call()
    except Exception as error:
        raise ContractError(f"{type(who).__name__} breaks a promise: {promise}; it raised {error!r}.") from error


def require_plain(state: Any, who: object, name: str = "state") -> None:
    """Numbers, texts, lists, dicts and arrays of numbers: nothing that needs pickle."""
    if isinstance(state, dict):
        require(all(isinstance(key, str) for key in state), who, f"the keys of {name} are texts")
        for key, value in state.items():
            require_plain(value, who, f"{name}[{key!r}]")
    elif isinstance(state, (list, tuple)):
        for value in state:
            require_plain(value, who, name)
    else:
        array = isinstance(state, np.ndarray) and state.dtype.kind in "biufU"
        plain = array or state is None or isinstance(state, (bool, int, float, str, np.number, np.bool_))
        require(plain, who, f"{name} can be stored without pickle; got {describe(state)}")


def through_a_file(state: Any) -> Any:
    """The state as it comes back from JSON and arrays."""
    if isinstance(state, np.ndarray):
        return np.array(state.tolist(), dtype=state.dtype).reshape(state.shape)
    if isinstance(state, dict):
        return {key: through_a_file(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [through_a_file(value) for value in state]
    return state.item() if isinstance(state, np.generic) else json.loads(json.dumps(state))


def fresh(member: Any) -> Any:
    """An unfitted copy with the same parameters."""
    copy = clone(member)  # which compares the parameters
    require(not any(name.endswith("_") and not name.endswith("__") for name in vars(copy)), copy, "a clone is unfitted")
    return copy


@contextmanager
def global_randomness_untouched(who: object) -> Iterator[None]:
    """Randomness comes from the seed, never from a global state."""
    before = torch.random.get_rng_state(), np.random.get_state()
    yield
    same = torch.equal(before[0], torch.random.get_rng_state())
    same = same and bool(np.array_equal(before[1][1], np.random.get_state()[1]))  # type: ignore[index]
    require(same, who, "randomness comes from its seed, not from NumPy's or torch's global state")


def members(package: ModuleType, base: type) -> list[type]:
    """Every class of that kind that a module of the package defines, without being named anywhere.

    A class that others there inherit from is a base of the family, not a member.
    """
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for member in vars(import_module(module.name)).values():
            own = inspect.isclass(member) and member.__module__ == module.name
            if own and issubclass(member, base) and member is not base and not inspect.isabstract(member):
                found[f"{module.name}.{member.__qualname__}"] = member
    bases = {parent for member in found.values() for parent in member.__mro__[1:]}
    return [found[name] for name in sorted(found) if found[name] not in bases]


def describe(value: Any) -> str:
    """What came, in a few words."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__
