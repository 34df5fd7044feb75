"""How a command works through tables that are larger than memory: the options about parts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from calirare.cli.expand import expand
from calirare.cli.options import Address, Backend


@dataclass(frozen=True)
class Parts:
    """What was said of the parts, as arguments of `calirare.scoring.in_parts.score_in_parts`."""

    partitions: int | None = None
    queue: Path | None = None
    queue_size: int = 1_000
    work: Path | None = None
    backend: str = "loky"
    jobs: int = 1
    address: str | None = None

    @property
    def asked(self) -> bool:
        """Whether anything was said that only parts can do."""
        return self != Parts(queue_size=self.queue_size)

    @property
    def arguments(self) -> dict[str, Any]:
        """By name; how many parts is None where the size of the tables is to choose."""
        return vars(self) | {"partitions": self.partitions or None}


_OPTIONS: dict[str, Any] = {
    "partitions": Annotated[
        int | None,
        typer.Option(help="Work in so many parts, for tables larger than memory, best Parquet; 0: chosen by size."),
    ],
    "queue": Annotated[
        Path | None,
        typer.Option(help="In parts: also write the likeliest nodes to this table, with the reason of each."),
    ],
    "queue_size": Annotated[int, typer.Option(help="How many nodes --queue holds.", min=1)],
    "work": Annotated[Path | None, typer.Option(help="Folder for the parts; default: beside the output.")],
    "backend": Backend,
    "jobs": Annotated[int, typer.Option(help="Parts at a time; -1: one for each core.")],
    "address": Address,
}

in_parts = expand("parts", {one.name: (_OPTIONS[one.name], one.default) for one in fields(Parts)}, Parts)
"""Gives a command the options about parts, in place of its parameter `parts`."""
