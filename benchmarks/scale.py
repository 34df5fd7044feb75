"""The whole path on growing transaction networks: read, fit, calibrate, intervals, triage, write.

Beside it, in the same run: plain PyG training of the same GCN for the same epochs. Each size runs in a process of its
own, so that the memory printed is that size's. The last lines give the slope of time and memory in edges, on log axes.

    python benchmarks/scale.py --nodes 10000,100000,1000000
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

STEPS = ("read", "fit and calibrate", "intervals and triage", "write", "plain PyG training")


def make_graph(num_nodes: int) -> cr.RareGraph:
    share = min(0.1, 10_000 / num_nodes)
    return cr.make_transactions(
        num_nodes=num_nodes, num_features=32, average_degree=20.0, labelled_share=share, rare_share=0.05, seed=0
    )


def write_case(num_nodes: int, folder: Path) -> None:
    from calirare.data.tables.files import write_tables

    write_tables(make_graph(num_nodes), folder)


def read_case(num_nodes: int, folder: Path) -> cr.RareGraph:
    """The graph from its tables, or made again where there are none (`--in-memory`)."""
    if not (folder / "nodes.parquet").exists():
        return make_graph(num_nodes)
    return cr.read_tables(folder / "nodes.parquet", folder / "edges.parquet", label="is_fraud", rare="yes")


def run_ours(num_nodes: int, folder: Path, epochs: int, device: str) -> dict[str, float]:
    seconds: dict[str, float] = {}
    warm_up(device)
    began = time.perf_counter()
    graph = read_case(num_nodes, folder)
    seconds["read"] = time.perf_counter() - began if (folder / "nodes.parquet").exists() else 0.0
    began = time.perf_counter()
    clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=epochs), device=device).fit(graph)
    seconds["fit and calibrate"] = time.perf_counter() - began
    began = time.perf_counter()
    table = cr.triage(clf, graph, cost_miss=50, cost_alarm=5, cost_review=1, budget=1_000)
    seconds["intervals and triage"] = time.perf_counter() - began
    began = time.perf_counter()
    if (folder / "nodes.parquet").exists():
        from calirare.data.tables.export import write_table

        write_table(table.frame(), folder / "queue.parquet")
    seconds["write"] = time.perf_counter() - began
    return seconds | {"edges": graph.num_edges}


def warm_up(device: str) -> None:
    """The first call on a GPU starts its driver and loads its libraries, whatever the size of the work."""
    if device != "cpu":
        small = cr.make_transactions(num_nodes=500, seed=1)
        clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=2, weight_decay=5e-3), device=device).fit(
            small
        )
        cr.triage(clf, small)


def run_plain(num_nodes: int, folder: Path, epochs: int, device: str) -> dict[str, float]:
    from speed import plain_training, synchronised

    warm_up(device)
    graph = read_case(num_nodes, folder)
    train = plain_training(graph, graph.known, epochs, device)
    return {"plain PyG training": synchronised(train, device)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="10000,100000,1000000")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--in-memory", action="store_true", help="no tables: make the graph where it is used")
    parser.add_argument("--case", nargs=3, metavar=("KIND", "NODES", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--ratios", help="file to append the ratios to")
    arguments = parser.parse_args()
    if arguments.case:
        kind, num_nodes, folder = arguments.case[0], int(arguments.case[1]), Path(arguments.case[2])
        if kind == "write":
            write_case(num_nodes, folder)
            return
        result = (run_ours if kind == "ours" else run_plain)(num_nodes, folder, arguments.epochs, arguments.device)
        result["memory GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps(result))
        return
    rows = []
    print(
        f"{'nodes':>9s} {'edges':>9s} "
        + " ".join(f"{step + ' s':>22s}" for step in STEPS)
        + "  ours/PyG  ours GB  PyG GB"
    )
    for num_nodes in (int(part) for part in arguments.nodes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            ours: dict[str, float] = {}
            plain: dict[str, float] = {}
            for kind, target in (("write", None), ("ours", ours), ("plain", plain)):
                if kind == "write" and arguments.in_memory:
                    continue
                command = [sys.executable, __file__, "--epochs", str(arguments.epochs), "--device", arguments.device]
                output = subprocess.run(
                    [*command, "--case", kind, str(num_nodes), folder], check=True, capture_output=True, text=True
                ).stdout
                if target is not None:
                    target.update(json.loads(output.splitlines()[-1]))
        ours["plain PyG training"] = plain["plain PyG training"]
        total = sum(ours[step] for step in STEPS[:-1])
        rows.append((ours["edges"], total, ours["memory GB"]))
        print(
            f"{num_nodes:9d} {int(ours['edges']):9d} "
            + " ".join(f"{ours[step]:22.1f}" for step in STEPS)
            + f"  {total / ours['plain PyG training']:8.2f}  {ours['memory GB']:7.2f}  {plain['memory GB']:6.2f}",
            flush=True,
        )
        if num_nodes >= 100_000:  # below, most is the start of Python
            case, beside = f"{num_nodes:,} nodes", plain["plain PyG training"]
            keep([Ratio("read … write / training of plain PyG", case, total, beside, 2.0)], arguments.ratios)
    if len(rows) > 1:
        edges, seconds, memory = np.log(np.array(rows)).T
        print(
            f"slope in edges (log axes): time {np.polyfit(edges, seconds, 1)[0]:.2f}, memory {np.polyfit(edges, memory, 1)[0]:.2f}"
        )


if __name__ == "__main__":
    main()
