"""What the service answers, for the OpenAPI document; tests hold the answers to it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from calirare.scoring.service.bodies import Id


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Score(_Answer):
    """A node's row, as `calirare score` writes it."""

    id: Id
    probability: float = Field(description="P(rare), calibrated.")
    lower: float = Field(
        description="Of the interval: of the nodes that score like this one, at least this share is rare."
    )
    upper: float
    disagreement: float = Field(description="How far the detectors lie apart about it; 0 where there is one.")
    prediction: str
    set: str = Field(description="The classes that the coverage does not rule out.")


class Scores(_Answer):
    """Rows in the order of the nodes that were given, then of the ids."""

    scores: list[Score]


class Share(_Answer):
    """What a column adds to the logit."""

    column: str
    group: str
    share: float


class Reasons(_Answer):
    """`base`, the shares and `others` add up to `logit`."""

    id: Id
    probability: float
    logit: float
    base: float
    columns: list[Share]
    others: float = Field(description="Sum over the columns that are not named.")


class Decision(_Answer):
    """What to do with a case."""

    id: Id
    probability: float
    lower: float
    upper: float
    action: str = Field(description="alert, review or clear.")
    reason: str
    expected_cost: float
    review_saves: float = Field(description="What a review is expected to save over deciding alone.")


class Decisions(_Answer):
    """In the order of the cases."""

    decisions: list[Decision]


class Facts(_Answer):
    """What is loaded."""

    calirare: str
    model: str
    detector: str
    rare: str
    nodes: int
    edges: int
    coverage: float
    loaded: str


class Status(_Answer):
    """It answers."""

    status: str


class Problem(_Answer):
    """What is wrong and the way out, in one line."""

    error: str


def answers_with(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The answers of a route: this one, or a line that says what is wrong."""
    return {200: {"model": model}, "4XX": {"model": Problem}, "5XX": {"model": Problem}, 422: {"model": Problem}}
