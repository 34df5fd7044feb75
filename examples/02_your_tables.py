"""Your own tables: words, gaps, money as people write it, payments with a date; an audit; new tables and their shift.

python examples/02_your_tables.py --out pictures
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import calirare as cr
from calirare.data.tables.audit import audit_tables
from calirare.data.tables.describe import describe_schema
from calirare.data.tables.files import edges_as_columns, nodes_as_columns
from calirare.data.tables.shift import compare_with_fit

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
parser.add_argument("--nodes", type=int, default=3_000)
parser.add_argument("--detector", default="auto", help="`linear` is quicker")
args = parser.parse_args()


def export(seed: int, folder: Path) -> tuple[Path, Path]:
    """Two tables as a bank might export them: a category, missing ages, a date that only frauds have, 1.234,56."""
    source = cr.make_transactions(num_nodes=args.nodes, labelled_share=0.25, seed=seed)
    rng = np.random.default_rng(seed)
    nodes = pl.DataFrame({name: list(column) for name, column in nodes_as_columns(source).items()})
    nodes = nodes.with_columns(
        country=pl.Series(rng.choice(["NO", "SE", "DK"], args.nodes)),
        account_age_days=pl.when(pl.Series(rng.random(args.nodes) < 0.1)).then(None).otherwise("account_age_days"),
        blocked_on=pl.when(pl.col("is_fraud") == "yes").then(pl.lit("31.01.2024")),
    )
    edges = pl.DataFrame({name: column.tolist() for name, column in edges_as_columns(source).items()})
    folder.mkdir(parents=True, exist_ok=True)
    nodes.write_csv(folder / "nodes.csv")
    swapped = str.maketrans(",.", ".,")
    money = [f"{amount:,.2f}".translate(swapped) for amount in edges["amount"]]
    edges.with_columns(amount=pl.Series(money)).write_csv(folder / "edges.csv", separator=";")
    return folder / "nodes.csv", folder / "edges.csv"


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    january = export(0, folder / "january")
    for finding in audit_tables(*january, label="is_fraud", rare="yes").findings:
        print(f"{finding.severity}: {finding.column} {finding.words}")
    graph = cr.read_tables(*january, label="is_fraud", rare="yes", types={"blocked_on": "ignore"})
    for row in describe_schema(graph.schema)[-8:]:
        print(f"{row['table']:6s} {row['column']:16s} {row['type']:12s} {row['treatment']}")
    print("edges:", graph.schema["read"]["edges"])

    clf = cr.RareCategoryClassifier(args.detector, seed=0).fit(graph)
    clf.save(folder / "model", graph)

    # A month later: other accounts, the same columns. Means, categories and fills are those of the fit.
    loaded = cr.load(folder / "model")
    later = cr.read_tables(*export(1, folder / "february"), schema=loaded.schema_)
    p = loaded.predict_proba(later)[:, loaded.rare_class_]
    print("shifted since January:", [shift.column for shift in compare_with_fit(later).found] or "nothing")
    print(f"February: {later.num_nodes} accounts, {p.sum():.0f} of them expected to be fraud")

# How well does it tell fraud apart? Every label is judged by the model that never saw it: none had to be set aside.
left_out = clf.predict_left_out()[:, clf.rare_class_]
figure = cr.plots.scores.plot(clf.labelled_y_ == clf.rare_class_, left_out, num_bins=25)
print(cr.plots.save(figure, args.out / "02_your_tables", formats=["png"])[0])
