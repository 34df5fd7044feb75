"""Classes whose name may say that nobody has decided: `open`, `clean?`, `triage pending`. They count as not rare."""

from __future__ import annotations

import re
from collections.abc import Iterator

from calirare.data.graph import RareGraph
from calirare.data.tables.findings.finding import Finding

_ALONE = {
    "open", "new", "queued", "assigned", "referred", "flagged", "suspect", "suspicious", "possible", "probable", "likely",
    "maybe", "fraglich", "on hold",
}  # fmt: skip
_AMONG_OTHERS = {
    "pending", "undecided", "unsure", "inconclusive", "unresolved", "unconfirmed", "unclear", "waiting", "awaiting", "ongoing",
    "escalated", "suspected", "suspicion", "disputed", "needs", "watch", "watchlist", "concern", "investigation", "review",
    "offen", "unklar", "verdacht", "läuft", "laufend", "ausstehend", "prüfung", "nachprüfung", "cours", "attente", "pendiente",
    "abklärung", "klärung", "bearbeitung", "pendente", "análise", "attesa", "verifica", "soupçon", "sospecha", "suspeita",
}  # fmt: skip
"""Words that say so in a name of several words too."""
_SETTLED = {
    "no", "not", "non", "without", "never", "after", "closed", "completed", "complete", "done", "passed", "cleared", "confirmed",
    "kein", "keine", "keinen", "nicht", "ohne", "nach", "abgeschlossen", "bestanden", "aucun", "sans", "sin",
}  # fmt: skip
"""Words that turn the others into a decision: `no concern`, `review closed`."""


def find_undecided(graph: RareGraph) -> Iterator[Finding]:
    """Classes beside others whose name may say that nobody has decided."""
    values = graph.schema_of("label").get("values", ())
    if graph.original_y is None:  # two classes: the other is all that is not rare
        return
    name = graph.class_names[graph.rare_class]
    for place, value in enumerate(values):
        count = int((graph.original_y == place).sum())
        if count and value != name and may_be_undecided(value):
            words = (
                f"{count:,} labels are {value!r}, which count as not {name!r}. If nobody has decided these, empty them: else "
                "every probability is too low."
            )
            yield Finding("labels", "", words, "warning")


def may_be_undecided(name: str) -> bool:
    """Whether a class of this name may hold what nobody has decided.

    >>> [name for name in ("Open", "clean?", "triage pending", "no concern", "new customer") if may_be_undecided(name)]
    ['Open', 'clean?', 'triage pending']
    >>> [name for name in ("klinische Abklärung", "nach Abklärung gesund", "suspeita de fraude") if may_be_undecided(name)]
    ['klinische Abklärung', 'suspeita de fraude']
    """
    plain = name.strip().casefold()
    words = set(re.findall(r"[^\W\d_]+", plain))
    return plain in _ALONE or plain.endswith("?") or bool(words & _AMONG_OTHERS and not words & _SETTLED)
