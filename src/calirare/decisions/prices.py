"""The default prices, and what each is the price of. They stand here alone, where no array library has to load first."""

from __future__ import annotations

MISS, ALARM, REVIEW, REVIEW_ERROR = 50.0, 5.0, 1.0, 0.0

ARGUMENTS: dict[str, tuple[float, str]] = {
    "cost_miss": (MISS, "Cost of a rare node that is cleared."),
    "cost_alarm": (ALARM, "Cost of an alert on a node that is not rare."),
    "cost_review": (REVIEW, "Cost of a review of one node by a person."),
    "review_error": (REVIEW_ERROR, "Share of reviews that end in the wrong call."),
}
"""The arguments of `triage` and the command line: default and description."""
