"""`calirare score` in parts on growing transaction networks: seconds, memory, and disk on the way.

A model is fitted once on a network of 20,000 accounts (`auto`: 4,000). The networks to score are written as Parquet shards of 100,000
accounts each, one at a time: copies of one network, each with noise of its own, and with every tenth payment sent to an
account anywhere. Each network is scored by the command itself, in a process of its own, with intervals for all accounts and
reasons for the thousand that are likeliest rare. Up to `--compare` accounts it is also scored at once, and the largest
difference of any number is printed.

    python benchmarks/score_at_scale.py --nodes 100000,1000000 --folder DIR
    python benchmarks/score_at_scale.py --nodes 100000,1000000 --detector auto
    python benchmarks/score_at_scale.py --nodes 100000 --detector auto --ray --partitions 4
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

import calirare as cr

SHARD = 100_000
COLUMNS = tuple(
    "nodes,edges,parts,seconds,CPU s,memory GB,disk GB,tables GB,at once s,at once GB,differ by,on Ray s,Ray differs by".split(
        ","
    )
)


def fit_model(folder: Path, detector: str) -> Path:
    from calirare.data.tables.files import write_tables

    place = folder / f"model-{detector}"
    if (place / "model.json").exists():
        return place
    size = 20_000 if detector == "gcn" else 4_000
    graph = cr.make_transactions(size, num_features=32, average_degree=20.0, labelled_share=0.1, seed=0)
    nodes, edges = write_tables(graph, folder / "fit")
    ends = pl.read_parquet(edges).select("source", "target")  # the shards have no more
    graph = cr.read_tables(nodes, ends, label="is_fraud", rare="yes")
    chosen = cr.detectors.GCN(weight_decay=5e-3) if detector == "gcn" else detector
    cr.RareCategoryClassifier(detector=chosen, device="cpu").fit(graph).save(place)
    return place


def write_shard(tile: cr.RareGraph, start: int, num_nodes: int, folder: Path) -> None:
    """The accounts from `start` on, and their payments."""
    rng = np.random.default_rng(start)
    size = min(SHARD, num_nodes - start)
    columns = {"id": np.arange(start, start + size)}
    for place, unit in enumerate(tile.schema["columns"]):
        trait = tile.x[:size, place] + 0.1 * rng.standard_normal(size, dtype=np.float32)
        columns[unit["name"]] = trait * unit["scale"] + unit["mean"]
    pl.DataFrame(columns).write_parquet(folder / "nodes" / f"{start:010d}.parquet")
    source, target = tile.edge_index[
        :, (tile.edge_index[0] < tile.edge_index[1]) & (tile.edge_index < size).all(axis=0)
    ]
    source, target = source + start, target + start
    far = rng.random(target.size) < 0.1
    target[far] = rng.integers(0, num_nodes, int(far.sum()))
    edges = pl.DataFrame({"source": source, "target": target})
    edges.write_parquet(folder / "edges" / f"{start:010d}.parquet")


def write_shards(num_nodes: int, folder: Path) -> None:
    """Nodes and edges in shards; those that are there already stay."""
    for name in ("nodes", "edges"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    tile = cr.make_transactions(SHARD, num_features=32, average_degree=20.0, labelled_share=0.1, seed=1)
    for start in range(0, num_nodes, SHARD):
        if not (folder / "edges" / f"{start:010d}.parquet").exists():
            write_shard(tile, start, num_nodes, folder)


def size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # parts come and go while we look
            continue
    return total


def score(model: Path, folder: Path, out: Path, options: list[str]) -> dict[str, float]:
    """Seconds, largest memory and largest disk of one run of the command."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    words = ["score", str(model), str(folder / "nodes"), str(folder / "edges"), "--out", str(out), "--json", *options]
    largest, running = 0, threading.Event()

    def watch() -> None:
        nonlocal largest
        while not running.wait(1.0):
            largest = max(largest, size_of(work))

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    command = [sys.executable, __file__, "--score", json.dumps([*words, "--work", str(work)])]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds = time.perf_counter() - began
    running.set()
    watcher.join()
    facts, used = printed.rsplit("\n", 2)[:2]
    found = json.loads(facts)
    counts = {"nodes": found["nodes"], "parts": found["parts"], "edges": found["read"]["edges"]["edges"]}
    return {**counts, "seconds": seconds, **json.loads(used), "disk GB": largest / 1e9}


def run_command(words: list[str]) -> None:
    """The command in this process, then the process's largest memory."""
    from calirare.cli.main import app

    app(words, standalone_mode=False)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    memory = max(one.ru_maxrss for one in used) * 1024 / 1e9
    print(json.dumps({"CPU s": sum(one.ru_utime + one.ru_stime for one in used), "memory GB": memory}))


def on_ray(words: list[str]) -> None:
    """The command on a Ray cluster of two machines with a core each, all of them here."""
    from ray.cluster_utils import Cluster

    from calirare.cli.main import app

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    began = time.perf_counter()
    app([*words, "--backend", "ray", "--address", cluster.address, "--jobs", "2"], standalone_mode=False)
    print(json.dumps({"on Ray s": time.perf_counter() - began}))
    cluster.shutdown()


def at_once(model: Path, folder: Path, intervals: bool, out: Path) -> None:
    """Read all shards and score in memory: what the parts are held against."""
    from calirare.data.tables.sources.export import write_table
    from calirare.scoring.table import read_for, score_table

    classifier = cr.load(model)
    began = time.perf_counter()
    graph = read_for(classifier, *(pl.read_parquet(folder / name / "*.parquet") for name in ("nodes", "edges")))
    write_table(score_table(classifier, graph, intervals=intervals), out)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps({"at once s": time.perf_counter() - began, "at once GB": memory}))


def compare(first: Path, second: Path) -> str:
    """The largest difference of a number, and how many predictions or sets differ because of it, if any."""
    one, other = pl.read_parquet(first), pl.read_parquet(second)
    numbers = [name for name in one.columns if one[name].dtype == pl.Float64]
    largest = max(float((one[name] - other[name]).abs().max()) for name in numbers)
    words = sum(int((one[name] != other[name]).sum()) for name in one.columns if name not in numbers)
    return f"{largest:.1e}" + (f", {words} words" if words else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="100000,1000000")
    parser.add_argument("--detector", default="gcn", help="gcn or auto")
    parser.add_argument("--no-intervals", action="store_true")
    parser.add_argument("--compare", type=int, default=1_000_000, help="up to so many nodes, score at once too")
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--partitions", default="0", help="into how many parts; 0: as many as memory asks for")
    parser.add_argument("--ray", action="store_true", help="score again on a Ray cluster of two workers, and compare")
    parser.add_argument("--folder", help="for tables and parts, and tables stay; default: a temporary one")
    parser.add_argument("--score", help=argparse.SUPPRESS)
    parser.add_argument("--on-ray", help=argparse.SUPPRESS)
    parser.add_argument("--at-once", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.score:
        run_command(json.loads(arguments.score))
        return
    if arguments.on_ray:
        on_ray(json.loads(arguments.on_ray))
        return
    if arguments.at_once:
        model, folder, out = map(Path, arguments.at_once)
        at_once(model, folder, not arguments.no_intervals, out)
        return
    print(" ".join(f"{name:>10s}" for name in COLUMNS), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(arguments.folder or scratch)
        model = fit_model(base, arguments.detector)
        for num_nodes in (int(part) for part in arguments.nodes.split(",")):
            print_case(model, num_nodes, base / str(num_nodes), arguments)


def print_case(model: Path, num_nodes: int, folder: Path, arguments: argparse.Namespace) -> None:
    write_shards(num_nodes, folder)
    facts: dict[str, float | str] = {"tables GB": (size_of(folder / "nodes") + size_of(folder / "edges")) / 1e9}
    options = ["--jobs", arguments.jobs, *(["--no-intervals"] if arguments.no_intervals else [])]
    options += ["--queue", str(folder / "queue.parquet"), "--partitions", arguments.partitions]
    facts |= score(model, folder, folder / "parts.parquet", options)
    if num_nodes <= arguments.compare:
        command = [sys.executable, __file__, *(["--no-intervals"] if arguments.no_intervals else []), "--at-once"]
        places = [str(path) for path in (model, folder, folder / "whole.parquet")]
        printed = subprocess.run([*command, *places], check=True, stdout=subprocess.PIPE, text=True).stdout
        facts |= json.loads(printed)
        facts["differ by"] = compare(folder / "parts.parquet", folder / "whole.parquet")
    if arguments.ray:
        facts |= _score_on_ray(model, folder, options)
    cells = [facts.get(name, "-") for name in COLUMNS]
    print(" ".join(f"{cell:10.2f}" if isinstance(cell, float) else f"{cell:>10}" for cell in cells), flush=True)


def _score_on_ray(model: Path, folder: Path, options: list[str]) -> dict[str, float | str]:
    out, (work, queue) = folder / "ray.parquet", (folder / name for name in ("work", "ray-queue.parquet"))
    words = ["score", str(model), str(folder / "nodes"), str(folder / "edges"), "--out", str(out), "--work", str(work)]
    words += [
        "--queue",
        str(queue),
        *options[-2:],
        *(["--no-intervals"] if "--no-intervals" in options else []),
        "--json",
    ]
    command = [sys.executable, __file__, "--on-ray", json.dumps(words)]
    settings = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_raylet_start_wait_time_s": "120"}
    printed = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings}
    ).stdout
    found: dict[str, float | str] = json.loads(printed.splitlines()[-1])
    tables = [compare(folder / "parts.parquet", out), compare(folder / "queue.parquet", queue)]
    return found | {"Ray differs by": " and ".join(dict.fromkeys(tables))}


if __name__ == "__main__":
    main()
