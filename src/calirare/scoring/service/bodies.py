"""What requests carry, checked before anything else sees it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from calirare.decisions.prices import ALARM, MISS, REVIEW, REVIEW_ERROR

MOST_ROWS = 10_000
Value = str | bool | int | float | None
Row = dict[str, Value]
Rows = Annotated[list[Row], Field(max_length=MOST_ROWS)]
Tables = Annotated[
    Annotated[Rows, Tag("rows")] | Annotated[dict[str, Rows], Tag("tables")],
    Discriminator(lambda sent: "tables" if isinstance(sent, dict) else "rows"),
]
"""The rows of one table, or of several by name."""
Id = str | int
Price = Annotated[float, Field(ge=0, le=1e12)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class WithRows(_Body):
    """Rows that came since the tables were loaded."""

    nodes: Tables = Field(
        default=[],
        description="New nodes, and known ones whose attributes changed, as in the nodes table; "
        "of several tables: rows by the name of the table.",
    )
    edges: Tables = Field(
        default=[],
        description="Edges that came, among known and new nodes, as in the edges table; "
        "of several tables: rows by the name of the table.",
    )


class ToScore(WithRows):
    """Nodes to score."""

    ids: list[Id] = Field(default=[], description="Known nodes that are asked about too.", max_length=MOST_ROWS)


class ToExplain(WithRows):
    """A node to explain."""

    id: Id = Field(description="Known, or among the rows.")
    top: int = Field(default=10, ge=1, le=1_000, description="How many columns to name; the others are one sum.")


class Case(_Body):
    """A node, and prices of its own."""

    id: Id
    cost_miss: Price | None = None
    cost_alarm: Price | None = None
    cost_review: Price | None = None


class ToDecide(WithRows):
    """Cases to decide."""

    cases: list[Case] = Field(
        min_length=1, max_length=MOST_ROWS, description="Nodes, known or among the rows, and their prices."
    )
    cost_miss: Price = Field(default=MISS, description="Cost of a rare node that is cleared, where a case has no own.")
    cost_alarm: Price = Field(default=ALARM, description="Cost of an alert on a node that is not rare.")
    cost_review: Price = Field(default=REVIEW, description="Cost of a review by a person.")
    review_error: float = Field(default=REVIEW_ERROR, ge=0, lt=0.5, description="Share of reviews that end wrong.")
    budget: int | None = Field(default=None, ge=0, description="Most reviews among these cases.")

    def prices(self, name: str) -> list[float]:
        """One per case."""
        default = float(getattr(self, name))
        return [default if getattr(case, name) is None else float(getattr(case, name)) for case in self.cases]
