"""What is told of the edges of each node, as it was decided at the fit: plain data that is stored with the model."""

from __future__ import annotations

from dataclasses import dataclass

from calirare.data.edge_table import ColumnKind
from calirare.features.edges.directions import Direction
from calirare.features.edges.node_numbers import End

NUM_MET = 3
"""Numbers kept of a node for each time and direction: a sum of logs, how many are near, how many there are."""


@dataclass(frozen=True)
class DatedEdges:
    """Edges whose times are told beside a date.

    Args:
        date: Name of the date.
        end: Whose it is.
        which: Edges in which direction.
        near: The days that count as shortly before or after, in two digits.
    """

    date: str
    end: End
    which: Direction
    near: float


@dataclass(frozen=True)
class Multiple:
    """What a number of edges is divided by.

    Args:
        number: Name of the node's number.
        end: Whose it is.
        which: Edges in which direction.
        high: What counts as a high multiple, in three digits.
    """

    number: str
    end: End
    which: Direction
    high: float


@dataclass(frozen=True)
class Leaning:
    """A direction in which nodes differ in many categories.

    Args:
        name: The categories that it leads to most.
        which: Edges in which direction.
        weights: What an edge of each category counts; edges of others do not.
    """

    name: str
    which: Direction
    weights: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class PlannedColumn:
    """One edge column that is summed up.

    Args:
        name: As in the edge table.
        kind: `"number"`, `"time"`, `"category"` or `"text"`.
        categories: Those with a share of their own; of a text, its words; of a time, the parts of day and week; of a number, the
            parts of `amount_parts`.
        diverse: A category column with more categories than that: how many differ is counted too.
        missing: Some values were missing, so their share is a column.
        signed: Numbers of both signs, so the share of negative ones is a column.
        origin: Of a time: the earliest, from which it is counted; in later tables their own (see `windows`).
        span: Of a time: from the earliest to the latest; 0 where that is not known.
        in_days: Of a time: counted in days; else it is in steps of unknown length, which stay.
        compared: Of a number: directions in which it is compared with the other end's usual (see `usual`).
        size: Of a number that is compared: its median size.
        middle: Its mean on the scale of the comparison.
        near: Of a time: directions in which it is told how near others are at the other end, and what is near (see `meeting`).
        dated: Of a time: what is told of it beside dates of the ends (see `dates`).
        multiples: Of a number: what it is divided by (see `multiples`).
        changing: Of a number: directions in which nodes change over time (see `trend`).
        again: Of a number or a time: directions in which it is told how even it is with the same neighbour (see `again`).
        pairs: Of a category: the share of a node's pairs of edges that differ in it is told; of a number, of those that do not.
        balanced: Of a number: the outgoing share of its sum is told.
        likes: Of many categories: the directions in which nodes differ (see `likes`).
        varied: Of a category or a number: directions in which it is told how many there are with the same neighbour (see `varied`).
    """

    name: str
    kind: ColumnKind
    categories: tuple[str, ...] = ()
    diverse: bool = False
    missing: bool = False
    origin: float = 0.0
    in_days: bool = False
    signed: bool = False
    compared: tuple[Direction, ...] = ()
    size: float = 1.0
    middle: float = 0.0
    near: tuple[tuple[Direction, float], ...] = ()
    dated: tuple[DatedEdges, ...] = ()
    span: float = 0.0
    multiples: tuple[Multiple, ...] = ()
    changing: tuple[Direction, ...] = ()
    again: tuple[Direction, ...] = ()
    pairs: bool = False
    balanced: bool = False
    likes: tuple[Leaning, ...] = ()
    varied: tuple[Direction, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two columns of an edge: times, or numbers of which one is divided by the other.

    Args:
        name: The later time, or the number that is divided.
        other: The earlier time, or the number that it is divided by.
        near: Of times: the days that are near, in two digits; 0 of numbers.
    """

    name: str
    other: str
    near: float = 0.0


@dataclass(frozen=True)
class BesideCategory:
    """A number beside what is usual with the same category.

    Args:
        name: The number; or the one that is divided.
        other: What it is divided by; "" where it is not.
        category: The column of categories.
        usual: The mean of its logarithm with each category; of others it is not told.
    """

    name: str
    other: str
    category: str
    usual: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class WithinPlan:
    """What is told of pairs of columns.

    Args:
        times: Pairs of times.
        ratios: Pairs of numbers.
        beside: Numbers beside categories.
    """

    times: tuple[Pair, ...] = ()
    ratios: tuple[Pair, ...] = ()
    beside: tuple[BesideCategory, ...] = ()


@dataclass(frozen=True)
class Custom:
    """How usual categories of edges, or of their other ends, are for a category of the node (see `customs`).

    Args:
        own: Name of the node's categories.
        of: Name of those that are told of.
        at_end: They are the other end's; else the edge's.
        which: Edges in which direction.
        categories: Of the edge, those that are told of, in order; the other end's are all told of.
        usual: Of each own category, how usual each of the others is.
    """

    own: str
    of: str
    at_end: bool
    which: Direction
    categories: tuple[str, ...]
    usual: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class SharedCells:
    """A column of which it is told whether others have the same values (see `shared`).

    Args:
        name: As in the edge table.
        which: Edges in which direction.
        parts: How many others, as they are told apart.
    """

    name: str
    which: Direction
    parts: tuple[str, ...]


@dataclass(frozen=True)
class EdgePlan:
    """What is summed up from an edge table.

    Args:
        directed: Outgoing and incoming edges apart, beside both together.
        columns: The columns.
        types: Types that are also summed up apart.
        brief: Of single types, numbers, sums and means alone.
        within: What is told of two columns of one edge together (see `within`).
        alike: Categories of the nodes of which it is told whether both ends have the same (see `alike`).
        pairs: Whether it is told what share of a node's pairs of edges lead to the same neighbour.
        apart: Dates of the nodes of which it is told how much later a node's is than those at the other ends (see `alike`).
        customs: Of what it is told how usual it is for a category of the node (see `customs`).
        shared: Columns of which it is told whether others have the same values (see `shared`).
    """

    directed: bool
    columns: tuple[PlannedColumn, ...] = ()
    types: tuple[str, ...] = ()
    brief: bool = False
    within: WithinPlan = WithinPlan()
    alike: tuple[str, ...] = ()
    pairs: bool = False
    apart: tuple[str, ...] = ()
    customs: tuple[Custom, ...] = ()
    shared: tuple[SharedCells, ...] = ()

    @property
    def clock(self) -> str | None:
        """The column by which the last edge of a node is found: the first one that is a time."""
        return next((column.name for column in self.columns if column.kind == "time"), None)

    @property
    def num_usual(self) -> int:
        """Numbers that `usual_of` keeps of a node: a sum and a count for each comparison."""
        return 2 * sum(len(column.compared) for column in self.columns)

    @property
    def sizes(self) -> set[str]:
        """Names of the numbers of nodes that numbers of edges are divided by."""
        return {multiple.number for column in self.columns for multiple in column.multiples}

    @property
    def node_categories(self) -> set[str]:
        """Names of the categories of nodes that are asked for."""
        return {*self.alike, *(one.own for one in self.customs), *(one.of for one in self.customs if one.at_end)}

    @property
    def of_cells(self) -> set[str]:
        """Names of the columns of which it is told whether others have the same values."""
        return {one.name for one in self.shared}

    @property
    def num_met(self) -> int:
        """Numbers that `meetings` keeps of a node."""
        return NUM_MET * sum(len(column.near) for column in self.columns)
