"""Where tasks run: in this process, in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib

from calirare.errors import DataError, InputError, optional

BACKENDS = ("loky", "ray")
T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def mapping(
    backend: str = "loky", jobs: int = -1, address: str | None = None
) -> Iterator[Callable[[Callable[[T], R], Sequence[T]], Iterator[R]]]:
    """A `map` that gives results as they finish; take all of one call's before the next call.

    Args:
        backend: `"loky"`: processes on this machine. `"ray"`: a Ray cluster, through joblib.
        jobs: Processes; -1: one for each core. With one, everything runs in this process.
        address: Of a running Ray cluster; without it a local one is started and stopped.
    """
    # Tasks take seconds to minutes: one at a time, so that none waits behind a long one.
    options = {"batch_size": 1, "pre_dispatch": "2*n_jobs", "return_as": "generator_unordered"}
    # One pool for every call: on Ray each new one would start its workers again.
    with spread(backend, jobs, address), joblib.Parallel(n_jobs=jobs, **options) as parallel:

        def run(function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
            return parallel(joblib.delayed(function)(one) for one in items)

        yield run


@contextmanager
def spread(backend: str = "loky", jobs: int = -1, address: str | None = None) -> Iterator[None]:
    """Send what is parallel inside the block to processes or to a Ray cluster: the folds of `cross_fit`, say.

    Args:
        backend, jobs, address: As for `mapping`.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=120, rare_share=0.2, seed=0)
    >>> with spread("loky", jobs=1):
    ...     clf = cr.RareCategoryClassifier(detector="linear", method="cross_fit").fit(graph)
    >>> clf.predict(graph).shape
    (120,)
    """
    if backend not in BACKENDS:
        raise InputError(f"backend must be one of {list(BACKENDS)}; got {backend!r}.")
    if jobs == 0 or jobs < -1:
        raise InputError(f"jobs must be a positive number, or -1 for all cores; got {jobs}.")
    if address is not None and backend != "ray":
        raise InputError("address is that of a Ray cluster; add --backend ray.")
    if backend == "ray":
        with _ray(jobs, address):
            yield
    else:
        with joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
            yield


@contextmanager
def _ray(jobs: int, address: str | None) -> Iterator[None]:
    ray = optional("ray", "ray")
    from ray.util.joblib import ray_backend

    class StreamingRay(ray_backend.RayBackend):
        """Ray's joblib backend; results are handed on as they come, which its base class forbids for forked pools."""

        supports_return_generator = True

    mine = not ray.is_initialized()
    if mine:
        _start(ray, jobs, address)
    joblib.register_parallel_backend("calirare-ray", StreamingRay)
    try:
        with joblib.parallel_config("calirare-ray", n_jobs=jobs):
            yield
    finally:
        if mine:
            ray.shutdown()


def _start(ray: Any, jobs: int, address: str | None) -> None:
    # "local": a cluster of our own, even where another one runs on this machine.
    own = {"address": "local", "num_cpus": None if jobs == -1 else jobs}
    arguments: dict[str, Any] = {"address": address} if address else own
    # Workers import what this process can import, a researcher's own module included.
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    try:
        ray.init(
            **arguments, runtime_env={"env_vars": {"PYTHONPATH": path}}, include_dashboard=None, log_to_driver=False
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise DataError(f"no Ray cluster answers at {address or 'this machine'}: {error}") from error
