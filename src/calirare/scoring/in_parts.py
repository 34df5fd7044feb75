"""Score tables larger than memory: part by part, step by step, with the numbers of the whole graph.

Two steps of neighbourhood of a part can be the whole graph. So no part ever looks two steps far: the first layer of a
network runs over all parts, its output is kept on disk for every node, and the second layer reads what its halo left
there. So do columns (`calirare.scoring.part_columns`).

Memory holds one part and its halo for each process, while the tables are read the ids, and for columns, once, who is joined
to whom. Disk holds the features and the edges twice, and the columns that the neighbours are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.checks import check_count
from calirare.data.parts.partitioning import Run, partition_tables
from calirare.data.parts.partitions import Partitions
from calirare.data.parts.shards import open_shards
from calirare.data.storage.locking import working_folder
from calirare.data.tables.gathering.tables import named_tables
from calirare.data.tables.schema.node_columns import feature_names
from calirare.data.tables.shift import Shifts, compare_profiles
from calirare.data.tables.sources.addresses import is_address
from calirare.data.tables.sources.export import check_export_path, write_table
from calirare.data.tables.sources.shard_files import is_parquet, is_sharded
from calirare.detectors.base import Progress
from calirare.detectors.networks.backbones.layerwise import Layers
from calirare.errors import InputError
from calirare.estimator.score_profile import and_scores
from calirare.scoring.backends import mapping
from calirare.scoring.passes import PartScorer, join_shards
from calirare.scoring.table import check_reads_tables

if TYPE_CHECKING:
    from calirare.estimator.classifier import RareCategoryClassifier


MANY_EDGES = 20_000_000
"""Rows of an edge table above which `calirare score` works in parts unasked."""
_TOP_ROWS = 10
_PART_BYTES = 2**29
"""Size limit of the largest array of a part; a process holds a few of these."""
_NUMBERS_PER_NEIGHBOUR = 32
"""Float32 numbers held per neighbour while columns are made: sixteen columns in float64."""


@dataclass(frozen=True)
class Scored:
    """What was scored.

    Args:
        num_nodes: Rows written.
        num_parts: Into how many parts the graph was cut.
        read: What was merged and imputed on reading, as in `graph.schema["read"]`.
        top: The ten rows with the highest probability, as columns, highest first.
        shift: What has shifted since the fit, the scores included.
        unknown: P(rare) of the nodes whose label is not known.
    """

    num_nodes: int
    num_parts: int
    read: dict[str, Any]
    top: dict[str, np.ndarray]
    shift: Shifts
    unknown: np.ndarray


def score_in_parts(
    classifier: RareCategoryClassifier,
    nodes: Any,
    edges: Any,
    out: str | Path,
    *,
    coverage: float = 0.9,
    intervals: bool = True,
    partitions: int | None = None,
    queue: Path | None = None,
    queue_size: int = 1_000,
    options: Mapping[str, Any] | None = None,
    work: str | Path | None = None,
    backend: str = "loky",
    jobs: int = 1,
    address: str | None = None,
    progress: Progress | None = None,
    accept: Callable[[Shifts], object] = lambda shifts: None,
) -> Scored:
    """Write the table of `score_table` for tables of any size, equal to it up to rounding.

    Args:
        classifier: Fitted on tables, with detectors that calirare names, and a calibrator that does not look at the graph.
        nodes: As in `read_tables`; a Parquet file, a folder of shards, or a pattern such as `nodes-*.parquet` is read
            batch by batch, any other table is held in memory while it is read.
        edges: The same for the edges.
        out: `.parquet` or `.csv`; it appears when it is complete.
        coverage: Of the interval and of the set.
        intervals: Without them `lower` and `upper` are left out.
        partitions: Number of parts; default: as many as keep each within about half a gigabyte.
        queue: A second table, of the likeliest nodes, highest first, with the reason of each; see
            `calirare.scoring.part_queue` for which detectors are heard in it. Default: none.
        queue_size: How many nodes it holds.
        options: Further arguments of `read_tables`, where the tables differ from those of the fit.
        work: Folder for the files on the way; default: beside `out`. On a cluster every machine must see it.
        backend: `"loky"` or `"ray"`, see `calirare.scoring.backends`.
        jobs: Parts at a time; each takes its own memory. -1: one for each core.
        address: Of a Ray cluster.
        progress: Called as work goes on.
        accept: Called with what has shifted, once the tables are read and again with the scores; where it raises, `out`
            stays as it was.

    >>> import calirare as cr, tempfile
    >>> from calirare.data.tables.files import write_tables
    >>> graph = cr.make_transactions(num_nodes=300, seed=0)
    >>> clf = cr.RareCategoryClassifier("linear").fit(graph)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tables = write_tables(graph, folder)
    ...     done = score_in_parts(clf, *tables, Path(folder) / "scores.parquet", partitions=3)
    >>> done.num_nodes, done.num_parts, list(done.top)
    (300, 3, ['id', 'probability', 'lower', 'upper', 'disagreement', 'prediction', 'set'])
    """
    out = _check_files(out, queue)
    if partitions is not None:
        check_count(partitions, "partitions")
    step = progress or (lambda share, what: None)
    schema = _check_model(classifier)
    scorer = PartScorer.of(classifier, coverage=coverage, intervals=intervals)
    if queue is not None:
        scorer = replace(scorer, head=max(_TOP_ROWS, check_count(queue_size, "queue_size")), reasons=True)
    reading = 0.6 if scorer.recipe is None else 0.3
    with mapping(backend, jobs, address) as run, _working_folder(work, out) as folder:
        parts = partition_tables(
            nodes,
            edges,
            schema,
            folder,
            partitions=partitions,
            edges_per_part=_edges_per_part(schema, scorer),
            options=options,
            rows=scorer.reads_edges,
            run=run,
            progress=lambda share: step(reading * share, "reading"),
        )
        shifts = _shifts_of(parts, schema)
        accept(shifts)
        ready = scorer.on(parts, out.suffix.lower())
        head = _score(ready, run, lambda share, what: step(reading + (1 - reading) * share, what))
        scores, unknown = ready.probabilities()
        shifts = and_scores(shifts, unknown, classifier.state_.scores)
        accept(shifts)
        if queue is not None:
            _write_queue(ready, classifier, {name: values[:queue_size] for name, values in head.items()}, queue)
        join_shards(ready, out)
    top = {name: values[:_TOP_ROWS] for name, values in head.items() if name != "node"}
    return Scored(int(scores.size), len(parts), parts.read, top, shifts, unknown)


def wants_parts(nodes: Any, edges: Any) -> bool:
    """Whether tables should be scored in parts unasked: there are several shards, or very many edges."""
    parquet = {
        what: [table for _, table in named_tables(tables, what) if is_parquet(table)]
        for tables, what in ((nodes, "nodes"), (edges, "edges"))
        if tables is not None
    }
    if any(is_sharded(table) for tables in parquet.values() for table in tables):
        return True
    files = [table for table in parquet.get("edges", ()) if Path(table).is_file()]
    return sum(open_shards(file, "edges").num_rows for file in files) > MANY_EDGES


def _check_model(classifier: RareCategoryClassifier) -> Any:
    """The schema of the tables it was fitted on."""
    schema = check_reads_tables(classifier)
    if classifier.looks_at_graph:
        raise InputError(
            f"method {classifier.method!r} calibrates by looking at the whole graph, which partitions do not hold; "
            "fit with method='jackknife', or leave out --partitions."
        )
    return schema


def _check_files(out: str | Path, queue: Path | None) -> Path:
    check_export_path(out)
    if is_address(out):
        raise InputError("in parts, scores are written to a file; give --out FILE.parquet.")
    if queue is not None:
        check_export_path(queue)
        if Path(queue).absolute() == Path(out).absolute():
            raise InputError(f"the queue and the scores must go to two files; got {queue} for both.")
    return Path(out)


def _shifts_of(parts: Partitions, schema: dict[str, Any]) -> Shifts:
    """What has shifted in the tables; nothing where nobody knows how they were at fit."""
    if parts.profile is None:
        return Shifts((), 0)
    return compare_profiles(parts.profile, schema, parts.read)


def _write_queue(
    scorer: PartScorer, classifier: RareCategoryClassifier, first: dict[str, np.ndarray], path: Path
) -> None:
    """The first rows, with the reason of each in place of its number."""
    reasons = scorer.queue.reasons(classifier, first.pop("node"))
    write_table(first | {"reason": reasons}, path)


def _score(scorer: PartScorer, run: Run, step: Progress) -> dict[str, np.ndarray]:
    """All passes over the parts; the rows with the highest probability."""
    passes = scorer.passes()
    total, done = sum(len(numbers) for _, _, numbers in passes), 0
    found: list[dict[str, np.ndarray]] = []
    for what, function, numbers in passes:
        found = []
        for result in run(function, numbers):
            found.append(result)
            done += 1
            step(done / total, what)
    return _highest(found, scorer.head)


def _highest(tops: list[dict[str, np.ndarray]], count: int) -> dict[str, np.ndarray]:
    """The most probable nodes of all parts."""
    tops = sorted(tops, key=lambda top: top["node"][:1].tolist())  # parts finish in any order
    columns = {name: np.concatenate([top[name] for top in tops]) for name in tops[0]}
    order = np.lexsort((columns["node"], -columns["probability"]))[:count]
    return {name: values[order] for name, values in columns.items()}


def _edges_per_part(schema: dict[str, Any], scorer: PartScorer) -> int:
    """Edges of a part whose halo, were it as large as that, still fits `_PART_BYTES`."""
    width: int
    if schema["sparse"]:
        width = 6 * sum(column["type"] != "ignore" for column in schema["columns"])
    else:
        width = len(feature_names(schema))
    if scorer.recipe is not None:
        width = max(width, _NUMBERS_PER_NEIGHBOUR)
    for layers in scorer.members:
        if isinstance(layers, Layers):
            width = max(width, layers.passes)
            if not layers.gathers:  # every edge holds a message
                width = max(width, 8 * max(int(value.shape[-1]) for value in layers.parameters()))
    return max(1, _PART_BYTES // (4 * width))


@contextmanager
def _working_folder(work: str | Path | None, out: Path) -> Iterator[Path]:
    base = Path(out.absolute().parent if work is None else work)
    if work is not None:
        base.mkdir(parents=True, exist_ok=True)
    while not base.is_dir():
        base = base.parent
    with working_folder(base, "calirare-parts-") as folder:
        yield folder
