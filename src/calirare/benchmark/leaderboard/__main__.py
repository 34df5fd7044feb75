"""The leaderboard from the command line of a machine that has nothing but torch, scikit-learn and NumPy.

python -m calirare.benchmark.leaderboard prepare graphs/
python -m calirare.benchmark.leaderboard run graphs/ store/ --jobs 16 --minutes 9
python -m calirare.benchmark.leaderboard pack store/ docs/assets/leaderboard/rows.jsonl.gz
python -m calirare.benchmark.leaderboard seconds store/ src/calirare/benchmark/seconds.json
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

from calirare.benchmark.leaderboard.graphs import prepare
from calirare.benchmark.leaderboard.rows import newest, pack
from calirare.benchmark.leaderboard.run import run
from calirare.benchmark.seconds import Seconds
from calirare.benchmark.store import RowStore


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m calirare.benchmark.leaderboard", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare", help="write the graphs into a folder")
    first.add_argument("graphs")
    first.add_argument("--data", help="the data folder; default: CALIRARE_DATA")
    first.add_argument("--only", default="", help="graphs by name, with commas")
    second = commands.add_parser("run", help="compute what the store lacks")
    second.add_argument("graphs_folder", metavar="graphs")
    second.add_argument("store")
    for name, dest in {"graph": "graphs", "protocol": "protocols", "competitor": "names"}.items():
        words = "repeatable; default: as `calirare leaderboard`"
        second.add_argument(f"--{name}", dest=dest, action="append", default=[], help=words)
    second.add_argument("--all", dest="everything", action="store_true", help="every protocol in full")
    second.add_argument("--everybody", action="store_true", help="every competitor in every protocol")
    second.add_argument("--any-code", action="store_true", help="rows that other code made count as done")
    second.add_argument("--seeds", type=int, default=3)
    second.add_argument("--device", default="cpu", help="of networks that stand alone: cpu or cuda")
    second.add_argument("--jobs", type=int, default=-1)
    second.add_argument("--minutes", type=float, default=math.inf, help="nothing is started after so many")
    third = commands.add_parser("pack", help="write every row of a store as one compressed file")
    fourth = commands.add_parser("seconds", help="write how long the runs of a store took, for those to come")
    for one in (third, fourth):
        one.add_argument("store")
        one.add_argument("file")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Prepare graphs, go on with a run, or write what came of it; 3 if some of it is left for the next call."""
    chosen = vars(_parser().parse_args(arguments))
    command = chosen.pop("command")
    if command == "run":
        return _run(**chosen)
    if command == "prepare":
        only = [name for name in chosen["only"].split(",") if name]
        print(*prepare(chosen["graphs"], only, chosen["data"]), sep="\n")
    elif command == "pack":
        print(pack(chosen["store"], chosen["file"]))
    else:
        print(Seconds.of(newest(RowStore(chosen["store"]).read())).save(chosen["file"]))
    return 0


def _run(**chosen: Any) -> int:
    began = time.time()
    found = run(
        **chosen,
        announce=lambda seconds: print(f"about {seconds:,.0f} processor seconds by earlier runs", flush=True),
        progress=lambda share, words: print(f"{share:4.0%} {time.time() - began:5.0f} s  {words}", flush=True),
    )
    for words in found.failures:
        print(f"failed: {words}")
    print(f"{found.num_computed} rows computed, {found.num_before} were there, {found.num_left} are left.")
    return 3 if found.num_left else 0


if __name__ == "__main__":
    raise SystemExit(main())
