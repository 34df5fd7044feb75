"""The paper on one graph: its Table 2 computed again, beside the published numbers, and its reliability diagrams.

Needs a benchmark graph: `calirare datasets fetch cora`, or a folder with it in CALIRARE_DATA.

python examples/08_the_paper.py --out pictures
"""

import argparse
from pathlib import Path

from calirare.benchmark import run_grid
from calirare.benchmark.comparison import comparison_table
from calirare.benchmark.figures import Request, draw
from calirare.benchmark.formats import to_markdown
from calirare.benchmark.pages import make_section
from calirare.benchmark.planning import choose_datasets, choose_entries, make_grid

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture and the rows")
parser.add_argument("--dataset", default="cora")
parser.add_argument("--methods", default="uncalibrated,temperature,calirare,calirare_code,jackknife,jackknife:balanced")
parser.add_argument("--epochs", type=int, default=200)
parser.add_argument("--seeds", type=int, default=3)
args = parser.parse_args()

sources = choose_datasets(args.dataset)
entries = choose_entries("calibration", args.methods)
grid = make_grid(datasets=sources, entries=entries, labels=(20,), seeds=args.seeds, epochs=args.epochs)
results = run_grid(grid, args.out / "08_the_paper", jobs=1)  # stopped and started again, it goes on where it was

section = make_section(results, "calibration", entries)
print(to_markdown(next(table for table in section.tables if table.name == f"calibration-{sources[0].name}-20")))
print(to_markdown(comparison_table(section.standings, "calibration", sources[0])))

request = Request(folder=args.out / "08_the_paper", dataset=args.dataset, settings=grid.settings)
for path in draw("reliability_rare", request, ["png"]):
    if path.suffix == ".png":
        print(path.rename(args.out / "08_the_paper.png"))
