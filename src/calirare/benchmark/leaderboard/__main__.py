"""The leaderboard from the command line of a machine that has nothing but torch, scikit-learn and NumPy.

python -m calirare.benchmark.leaderboard prepare graphs/
python -m calirare.benchmark.leaderboard run graphs/ store/ --jobs 16 --minutes 9
python -m calirare.benchmark.leaderboard pack store/ docs/assets/leaderboard/rows.jsonl.gz
python -m calirare.benchmark.leaderboard seconds store/ src/calirare/benchmark/leaderboard/seconds.json
"""

from __future__ import annotations

import argparse

from calirare.benchmark.leaderboard.graphs import prepare
from calirare.benchmark.leaderboard.rows import newest, pack, read_rows
from calirare.benchmark.leaderboard.run import run
from calirare.benchmark.leaderboard.seconds import Seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m calirare.benchmark.leaderboard", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare", help="write the graphs into a folder")
    first.add_argument("graphs")
    first.add_argument("--data", help="the data folder; default: CALIRARE_DATA")
    first.add_argument("--only", default="", help="graphs by name, with commas")
    second = commands.add_parser("run", help="compute what the store lacks")
    second.add_argument("graphs")
    second.add_argument("store")
    for name in ("graph", "protocol", "competitor"):
        second.add_argument(
            f"--{name}", action="append", default=[], help="repeatable; default: as `calirare leaderboard`"
        )
    second.add_argument("--all", action="store_true", help="every protocol in full")
    second.add_argument("--everybody", action="store_true", help="every competitor in every protocol")
    second.add_argument("--any-code", action="store_true", help="rows that other code made count as done")
    second.add_argument("--seeds", type=int, default=3)
    second.add_argument("--device", default="cpu", help="of networks that stand alone: cpu or cuda")
    second.add_argument("--jobs", type=int, default=-1)
    second.add_argument("--minutes", type=float, default=1e9, help="nothing is started after so many")
    third = commands.add_parser("pack", help="write every row of a store as one compressed file")
    fourth = commands.add_parser("seconds", help="write how long the runs of a store took, for those to come")
    for one in (third, fourth):
        one.add_argument("store")
        one.add_argument("file")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Prepare graphs, go on with a run, or write what came of it; 3 if some of it is left for the next call."""
    chosen = _parser().parse_args(arguments)
    if chosen.command == "pack":
        print(pack(chosen.store, chosen.file))
        return 0
    if chosen.command == "seconds":
        print(Seconds.of(newest(read_rows(chosen.store))).save(chosen.file))
        return 0
    if chosen.command == "prepare":
        for path in prepare(chosen.graphs, [name for name in chosen.only.split(",") if name], chosen.data):
            print(path)
        return 0
    found = run(
        chosen.graphs, chosen.store, graphs=chosen.graph, protocols=chosen.protocol, names=chosen.competitor,
        everything=chosen.all, everybody=chosen.everybody,
        any_code=chosen.any_code, seeds=chosen.seeds, jobs=chosen.jobs, minutes=chosen.minutes, device=chosen.device,
        announce=lambda seconds: print(f"about {seconds:,.0f} processor seconds by earlier runs", flush=True),
        progress=lambda share, words: print(f"{share:4.0%} {words}", flush=True),
    )  # fmt: skip
    for words in found.failures:
        print(f"failed: {words}")
    print(f"{found.num_computed} rows computed, {found.num_before} were there, {found.num_left} are left.")
    return 3 if found.num_left else 0


if __name__ == "__main__":
    raise SystemExit(main())
