"""One thing to know before a fit, and the rule that calls a group of nodes too rare to be chance."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import Literal

import numpy as np

Severity = Literal["leak", "warning", "note"]
PURE = 0.98
FEWEST = 5
CHANCE = 1e-6


@dataclass(frozen=True)
class Finding:
    """One thing to know before a fit.

    Args:
        kind: `"leak"`, `"constant"`, `"duplicate"`, `"identifier"`, `"codes"`, `"infinite"`, `"contradiction"`, `"spellings"`, `"labels"`,
            `"ends"` or `"graph"`.
        column: The column in question; empty where it is none.
        words: What was found and what to do, in a sentence or two.
        severity: `"leak"` (it will look good and be worth nothing), `"warning"` or `"note"`.
    """

    kind: str
    column: str
    words: str
    severity: Severity


def retype(column: str, kind: str) -> str:
    """The option that says what a column is, as it can be pasted into a shell.

    >>> retype("port", "categorical"), retype("closed on", "ignore")
    ('--type port=categorical', "--type 'closed on=ignore'")
    """
    return f"--type {quote(f'{column}={kind}')}"


def ignore(column: str) -> str:
    """The option that leaves a column out."""
    return retype(column, "ignore")


def gives_away(special: np.ndarray, rare: np.ndarray) -> bool:
    """Whether labelled nodes that are special in some way are rare, nearly all, and far more often than others.

    At least `FEWEST` of them, and so many that chance, at the share of rare ones among all, would bring it about less than
    once in a million columns.

    >>> rare = np.arange(100) < 20
    >>> gives_away(rare, rare), gives_away(np.arange(100) < 40, rare)
    (True, False)
    """
    hits, size = int((special & rare).sum()), int(special.sum())
    return (
        hits >= FEWEST and hits >= PURE * size and bool(hits > 2 * rare.mean() * size and rare.mean() ** hits < CHANCE)
    )
