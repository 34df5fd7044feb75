"""The benchmark graphs as problems of one rare class against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from calirare.data.against_rest import rare_or_not
from calirare.data.arrays import UNKNOWN
from calirare.data.catalogue.convert import convert
from calirare.data.catalogue.download import data_folder, download_upstream
from calirare.data.catalogue.entries import BENCHMARKS, Benchmark, find_benchmark
from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.data.storage.archive import content_sha256, read_arrays, write_arrays
from calirare.data.storage.portable import features_from_arrays
from calirare.errors import DataError, InputError

PROTOCOLS = ("default", "paper")


def load_benchmark(name: str, *, protocol: str = "default", cache_dir: str | Path | None = None) -> RareGraph:
    """A benchmark graph with one class against the rest: `y` is 1 for the rare class, `original_y` keeps the classes.

    Words are divided by their row sums and stay sparse; the columns of Tolokers and Reddit are standardised. Cora, CiteSeer and PubMed bring their public split.
    The graph is read from the cache folder; if it is not there, it is downloaded, checked, converted and stored.

    Args:
        name: `"cora"`, `"citeseer"`, `"pubmed"`, `"dblp"`, `"facebook"`, `"tolokers"` or `"reddit"`.
        protocol: CiteSeer has 15 nodes without words and without a label. `"default"` leaves their label unknown,
            `"paper"` counts them as the rare class, as the paper did (15.72% rare instead of 15.34%).
        cache_dir: Folder with `<name>.npz`; default: the variable CALIRARE_DATA, else the platform's cache folder.

    >>> graph = load_benchmark("cora")  # doctest: +SKIP
    >>> graph.num_nodes, round(graph.rare_share, 4)  # doctest: +SKIP
    (2708, 0.1296)
    """
    if protocol not in PROTOCOLS:
        raise InputError(f"protocol must be one of {list(PROTOCOLS)}; got {protocol!r}.")
    benchmark = find_benchmark(name)
    path = benchmark_path(benchmark.name, cache_dir)
    if not path.exists():
        fetch_benchmark(benchmark.name, cache_dir=cache_dir)
    return _to_graph(benchmark, _read(benchmark, path), protocol)


def list_benchmarks() -> tuple[Benchmark, ...]:
    """What is known of every benchmark graph.

    >>> [entry.title for entry in list_benchmarks()]
    ['Cora', 'CiteSeer', 'PubMed', 'DBLP', 'Facebook', 'Tolokers', 'Reddit']
    """
    return tuple(BENCHMARKS.values())


def benchmark_path(name: str, cache_dir: str | Path | None = None) -> Path:
    """Where the graph is, or would be, kept."""
    return data_folder(cache_dir) / f"{find_benchmark(name).name}.npz"


def fetch_benchmark(
    name: str, *, cache_dir: str | Path | None = None, mirror: str | None = None, force: bool = False
) -> Path:
    """Download, check, convert and store a graph; where it is kept.

    Args:
        name: As in `load_benchmark`.
        cache_dir: As in `load_benchmark`.
        mirror: Address that serves the upstream files as `<mirror>/<name>/<file>`; default: the variable
            CALIRARE_MIRROR, else the authors' own addresses.
        force: Convert again even if the graph is there.
    """
    benchmark = find_benchmark(name)
    path = benchmark_path(benchmark.name, cache_dir)
    if path.exists() and not force:
        return path
    raw = download_upstream(benchmark, data_folder(cache_dir), mirror)
    arrays = convert(benchmark.reader, benchmark.name, raw)
    wrong = [check for check in _statistics(benchmark, arrays) if not check.passed]
    if wrong:
        raise DataError(
            f"The files for {benchmark.title} in {raw} do not give the expected graph: "
            + "; ".join(f"{check.what} is {check.found}, expected {check.expected}" for check in wrong)
            + ". Delete that folder and fetch again."
        )
    write_arrays(path, arrays)
    return path


@dataclass(frozen=True)
class Check:
    """One thing that was compared."""

    what: str
    expected: str
    found: str

    @property
    def passed(self) -> bool:
        return self.expected == self.found


@dataclass(frozen=True)
class Verification:
    """What `verify_benchmark` found. `content_matches` compares the arrays byte for byte with the pinned sha256."""

    name: str
    path: Path
    content_sha256: str
    content_matches: bool
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Every statistic is right and, where the upstream files are pinned, so is every byte."""
        pinned = all(file.sha256 for file in find_benchmark(self.name).files)
        return all(check.passed for check in self.checks) and (self.content_matches or not pinned)


def verify_benchmark(name: str, *, cache_dir: str | Path | None = None) -> Verification:
    """Compare a stored graph with the published statistics and with the sha256 of its arrays.

    Note:
        The upstream files of DBLP, Tolokers and Reddit have no pinned sha256: no copy of them was at hand. There a right
        set of statistics passes on its own.
    """
    benchmark = find_benchmark(name)
    path = benchmark_path(benchmark.name, cache_dir)
    arrays = _read(benchmark, path)
    digest = content_sha256(arrays)
    return Verification(
        name=benchmark.name,
        path=path,
        content_sha256=digest,
        content_matches=digest == benchmark.content_sha256,
        checks=_statistics(benchmark, arrays),
    )


def _statistics(benchmark: Benchmark, arrays: dict[str, np.ndarray]) -> tuple[Check, ...]:
    shape = [int(size) for size in (arrays["x"].shape if "x" in arrays else arrays["x_shape"])]
    unlabelled = int(arrays["unlabelled_mask"].sum()) if "unlabelled_mask" in arrays else 0
    counts = np.bincount(arrays["y"]).tolist()
    share = counts[benchmark.rare_class] / shape[0] if len(counts) > benchmark.rare_class else 0.0
    rows = (
        ("nodes", benchmark.num_nodes, shape[0]),
        ("directed edges", benchmark.num_directed_edges, arrays["edge_index"].shape[1]),
        ("features", benchmark.num_features, shape[1]),
        ("nodes per class", list(benchmark.class_counts), counts),
        ("rare share", f"{benchmark.rare_share:.2%}", f"{share:.2%}"),
        ("unlabelled nodes", benchmark.num_unlabelled, unlabelled),
    )
    return tuple(Check(what, str(expected), str(found)) for what, expected, found in rows)


def _read(benchmark: Benchmark, path: Path) -> dict[str, np.ndarray]:
    try:
        arrays = read_arrays(path)
        features = {"x_indptr", "x_indices", "x_data", "x_shape"} if benchmark.words else {"x"}
        missing = {"edge_index", "y", *features} - arrays.keys()
    except DataError as error:
        again = " --force" if path.exists() else ""
        raise DataError(f"{error} Run: calirare datasets fetch {benchmark.name}{again}") from error
    if missing:
        raise DataError(
            f"{path} lacks {sorted(missing)}; it is no benchmark graph. "
            f"Run: calirare datasets fetch {benchmark.name} --force"
        )
    return arrays


def _to_graph(benchmark: Benchmark, arrays: dict[str, np.ndarray], protocol: str) -> RareGraph:
    x = normalise_rows(features_from_arrays(arrays)) if benchmark.words else standardise(arrays["x"])
    original_y = arrays["y"].copy()
    if "unlabelled_mask" in arrays:
        original_y[arrays["unlabelled_mask"]] = benchmark.rare_class if protocol == "paper" else UNKNOWN
    public = None
    if "train_mask" in arrays:
        public = Split(train=arrays["train_mask"], val=arrays["val_mask"], test=arrays["test_mask"])
    return RareGraph(
        x=x,
        edge_index=arrays["edge_index"],
        y=rare_or_not(original_y, benchmark.rare_class),
        rare_class=1,
        original_y=original_y,
        public_split=public,
        name=benchmark.name,
    )


def standardise(x: np.ndarray) -> np.ndarray:
    """Every column with mean 0 and spread 1 over all nodes; one that does not vary is 0.

    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    spread = x.std(axis=0, dtype=np.float64)
    centred = x - x.mean(axis=0, dtype=np.float64)
    return np.asarray(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-9), dtype=np.float32)


def normalise_rows(x: sp.csr_array) -> sp.csr_array:
    """Divide every row by its sum; rows of zeros stay as they are.

    >>> normalise_rows(sp.csr_array(np.array([[1.0, 3.0], [0.0, 0.0]]))).toarray().tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    total = np.asarray(x.sum(axis=1), dtype=np.float64).ravel()
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total != 0)
    result = sp.csr_array(x, copy=True)
    result.data = (result.data * np.repeat(scale, np.diff(x.indptr))).astype(np.float32)
    return result
