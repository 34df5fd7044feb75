"""`calirare audit`: what to know of the tables before a model is fitted on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calirare.cli import console
from calirare.cli.options import AsJson, Label, Rare, Types
from calirare.cli.table_options import Tables, parse_types, tabled

if TYPE_CHECKING:
    from calirare.data.tables.audit import Audit

EXAMPLE = "Example: calirare audit nodes.csv edges.csv --label is_fraud --rare yes"


@tabled
def audit(
    tables: Tables,
    rare: Rare,
    label: Label = None,
    types: Types = None,
    as_json: AsJson = False,
) -> None:
    """Look for columns that give the label away or say nothing, labels too few or at odds, and whether edges help."""
    from calirare.data.tables.describe import describe_schema
    from calirare.evaluation.graph_value import audit_with_graph

    with console.working("Reading the tables"):
        graph = tables.read(label=label, rare=rare, types=parse_types(types))
    with console.working("Looking"):
        found = audit_with_graph(graph)
    columns = describe_schema(graph.schema or {"columns": []})
    if as_json:
        console.show_json({"findings": found.to_json(), "columns": columns, "read": graph.schema_of("read")})
        return
    show_audit(columns, found)


def show_audit(columns: list[dict[str, str]], found: Audit) -> None:
    """Print the columns and the findings, the gravest first."""
    console.show_table("Columns", ["table", "column", "type", "treatment"], [tuple(row.values()) for row in columns])
    if not found.findings:
        console.show("Audit: nothing to report.")
        return
    rows = [(finding.severity, finding.kind, finding.column, finding.words) for finding in found.findings]
    console.show_table("Audit", ["", "kind", "column", "what was found"], rows)
