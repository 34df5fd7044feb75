"""The whole path on growing transaction networks with five columns of edges: read, fit, calibrate, intervals, triage, write.

Each detector beside the first, and beside plain PyG training of the same GCN for the same epochs. Each runs in a process of
its own, so that the memory printed is its own. On a CPU the steps are CPU seconds, which a busy machine changes little; the
clock stands beside them. The last lines give the slopes of time and memory in edges, on log axes.

    python benchmarks/scale.py --nodes 10000,100000,1000000
    python benchmarks/scale.py --nodes 10000,100000 --detectors gcn,auto,linear --no-plain
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from ratios import Ratio, keep

import calirare as cr
from calirare.detectors.base import Detector
from calirare.detectors.networks.network import Network
from calirare.detectors.registry import make_detector
from calirare.detectors.stack import Stack, default_members

STEPS = ("read", "fit and calibrate", "intervals and triage", "write")
MOST = {"auto": 5.0, "plain PyG training": 2.0}


def make_graph(num_nodes: int) -> cr.RareGraph:
    share = min(0.1, 10_000 / num_nodes)
    return cr.make_transactions(
        num_nodes=num_nodes, num_features=32, average_degree=20.0, labelled_share=share, rare_share=0.05, seed=0
    )


def write_case(num_nodes: int, folder: Path) -> None:
    import polars as pl

    from calirare.data.tables.files import write_tables

    _, edges = write_tables(make_graph(num_nodes), folder)
    ends, rng = pl.read_parquet(edges).select("source", "target"), np.random.default_rng(0)
    value, fee, rate = np.exp(rng.standard_normal((3, len(ends))))
    minute = rng.integers(0, 525_600, len(ends))
    ends.with_columns(
        pl.Series("value", value),
        pl.Series("fee", fee),
        pl.Series("rate", np.where(rate > 10, np.nan, rate)).fill_nan(None),
        pl.datetime(2024, 1, 1) + pl.duration(minutes=pl.Series("time", minute)),
        pl.Series("channel", np.array(list("abcdef"))[rng.integers(0, 6, len(ends))]),
    ).write_parquet(edges)


def read_case(num_nodes: int, folder: Path) -> cr.RareGraph:
    """The graph from its tables, or made again where there are none (`--in-memory`)."""
    if not (folder / "nodes.parquet").exists():
        return make_graph(num_nodes)
    return cr.read_tables(folder / "nodes.parquet", folder / "edges.parquet", label="is_fraud", rare="yes")


def make(what: str, epochs: int) -> Detector:
    """A detector whose networks train for so many epochs; the GCN as `calirare fit --detector gcn` has it."""
    if what != "auto":
        return cr.detectors.GCN(epochs=epochs, weight_decay="left_out") if what == "gcn" else make_detector(what)
    return Stack([one.set_params(epochs=epochs) if isinstance(one, Network) else one for one in default_members()])


def run_ours(what: str, num_nodes: int, folder: Path, epochs: int, device: str) -> dict[str, float]:
    seconds: dict[str, float] = {}
    warm_up(device)
    tables, started = (folder / "nodes.parquet").exists(), time.perf_counter()
    clock = time.process_time if device == "cpu" else time.perf_counter
    began = clock()
    graph = read_case(num_nodes, folder)
    seconds["read"] = clock() - began if tables else 0.0
    began = clock()
    clf = cr.RareCategoryClassifier(make(what, epochs), device=device).fit(graph)
    seconds["fit and calibrate"] = clock() - began
    began = clock()
    table = cr.triage(clf, graph, cost_miss=50, cost_alarm=5, cost_review=1, budget=1_000)
    seconds["intervals and triage"] = clock() - began
    began = clock()
    if tables:
        from calirare.data.tables.sources.export import write_table

        write_table(table.frame(), folder / "queue.parquet")
    seconds["write"] = clock() - began
    return seconds | {
        "edges": graph.num_edges,
        "total": sum(seconds.values()),
        "by the clock": time.perf_counter() - started,
    }


def warm_up(device: str) -> None:
    """The first call on a GPU starts its driver and loads its libraries, whatever the size of the work."""
    if device != "cpu":
        small = cr.make_transactions(num_nodes=500, seed=1)
        clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=2), device=device).fit(small)
        cr.triage(clf, small)


def run_plain(num_nodes: int, folder: Path, epochs: int, device: str) -> dict[str, float]:
    from speed import plain_training, synchronised

    warm_up(device)
    graph = read_case(num_nodes, folder)
    train = plain_training(graph, graph.known, epochs, device)
    began = time.process_time()
    clock = synchronised(train, device)
    return {"edges": graph.num_edges, "total": time.process_time() - began if device == "cpu" else clock, "by the clock": clock}  # fmt: skip


def run_case(kind: str, num_nodes: int, folder: Path, epochs: int, device: str) -> None:
    """In a process of its own: prints what it found, as JSON."""
    if kind == "write":
        write_case(num_nodes, folder)
        return
    plain = kind == "plain PyG training"
    found = run_plain(num_nodes, folder, epochs, device) if plain else run_ours(kind, num_nodes, folder, epochs, device)
    print(json.dumps(found | {"memory GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}))


def in_a_process(kind: str, num_nodes: int, folder: str, options: list[str]) -> dict[str, float]:
    command = [sys.executable, __file__, *options, "--case", kind, str(num_nodes), folder]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(printed.splitlines()[-1]) if printed else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="10000,100000,1000000")
    parser.add_argument("--detectors", default="gcn,auto")
    parser.add_argument("--epochs", type=int, default=50, help="of every network")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--no-plain", action="store_true", help="without PyG's training")
    parser.add_argument("--in-memory", action="store_true", help="no tables: make the graph where it is used")
    parser.add_argument("--case", nargs=3, metavar=("KIND", "NODES", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--ratios", help="file to append the ratios to")
    arguments = parser.parse_args()
    if arguments.case:
        kind, num_nodes, folder = arguments.case
        run_case(kind, int(num_nodes), Path(folder), arguments.epochs, arguments.device)
        return
    options = ["--epochs", str(arguments.epochs), "--device", arguments.device]
    kinds = [*arguments.detectors.split(","), *([] if arguments.no_plain else ["plain PyG training"])]
    print(f"{'nodes':>9s} {'edges':>10s} {'':18s} " + " ".join(f"{step + ' s':>22s}" for step in STEPS) + f" {'total s':>9s} {'clock s':>8s} {'GB':>6s} {'of ' + kinds[0]:>8s}")  # fmt: skip
    rows: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in kinds}
    for num_nodes in (int(part) for part in arguments.nodes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            if not arguments.in_memory:
                in_a_process("write", num_nodes, folder, options)
            found = {kind: in_a_process(kind, num_nodes, folder, options) for kind in kinds}
        first = found[kinds[0]]["total"]
        for kind, one in found.items():
            rows[kind].append((one["edges"], one["total"], one["memory GB"]))
            steps = " ".join(f"{one[step]:22.1f}" if step in one else f"{'':22s}" for step in STEPS)
            print(f"{num_nodes:9d} {int(one['edges']):10d} {kind:18s} {steps} {one['total']:9.1f} {one['by the clock']:8.1f} {one['memory GB']:6.2f} {one['total'] / first:8.2f}", flush=True)  # fmt: skip
        if num_nodes >= 100_000:  # below, most is the start of Python
            keep(_ratios(f"{num_nodes:,} nodes", found, kinds[0]), arguments.ratios)
    for kind, points in rows.items():
        if len(points) > 1:
            edges, seconds, memory = np.log(np.array(points)).T
            print(f"{kind}: slope in edges (log axes): time {np.polyfit(edges, seconds, 1)[0]:.2f}, memory {np.polyfit(edges, memory, 1)[0]:.2f}")  # fmt: skip


def _ratios(case: str, found: dict[str, dict[str, float]], first: str) -> list[Ratio]:
    total, ratios, plain = found[first]["total"], [], "plain PyG training"
    if plain in found:
        ratios.append(Ratio(f"{first}, read … write / training of plain PyG", case, total, found[plain]["total"], MOST[plain]))  # fmt: skip
    if "auto" in found and first != "auto":
        ratios.append(Ratio(f"auto / {first}, read … write", case, found["auto"]["total"], total, MOST["auto"]))
    return ratios


if __name__ == "__main__":
    main()
