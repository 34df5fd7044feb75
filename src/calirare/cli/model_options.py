"""Which model a command fits: the same options for its detector, its method and its prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calirare.cli.expand import expand
from calirare.cli.options import Device, Seed
from calirare.errors import InputError

if TYPE_CHECKING:
    from calirare.detectors.base import Detector
    from calirare.estimator.classifier import RareCategoryClassifier


def number_or_left_out(text: str) -> float | str:
    """What `--weight-decay` may be."""
    try:
        return text if text == "left_out" else float(text)
    except ValueError:
        raise typer.BadParameter(f"a number or left_out; got {text!r}.") from None


OPTIONS: dict[str, tuple[Any, Any]] = {
    "method": (Annotated[str, typer.Option(help="One of `calirare methods`.")], "jackknife"),
    "prior": (Annotated[str, typer.Option(help="natural (true frequencies) or balanced.")], "natural"),
    "rare_share": (
        Annotated[
            float | None,
            typer.Option(help="Share of rare nodes in the population, where the labels are no random sample."),
        ],
        None,
    ),
    "detector": (
        Annotated[
            str,
            typer.Option(
                help="auto (several, weighed by left-out evidence), linear, sparse, forest, boosting, surroundings, spreading, gcn, gat, gin, sage."
            ),
        ],
        "auto",
    ),
    "hidden": (Annotated[int | None, typer.Option(help="Hidden units of a network.")], None),
    "epochs": (Annotated[int | None, typer.Option(help="Passes of a network over the labels.")], None),
    "weight_decay": (
        Annotated[
            float | None,
            typer.Option(
                parser=number_or_left_out,
                metavar="NUMBER|left_out",
                help="L2 penalty of a network; left_out: the one that left-out labels favour.",
            ),
        ],
        None,
    ),
    "seed": (Seed, 0),
    "device": (Device, "auto"),
}


def choose_model(
    detector: str, hidden: int | None, epochs: int | None, weight_decay: float | str | None, **said: Any
) -> RareCategoryClassifier:
    """What the command line says of the model, not fitted."""
    from calirare.estimator.classifier import RareCategoryClassifier

    given = {"hidden": hidden, "epochs": epochs, "weight_decay": weight_decay}
    return RareCategoryClassifier(_choose_detector(detector, given), **said)


def _choose_detector(name: str, given: dict[str, Any]) -> str | Detector:
    """The detector of this name; with the parameters that were given, which only networks take."""
    from calirare.detectors.networks.network import Network
    from calirare.detectors.registry import make_detector

    made = make_detector(name)
    parameters = {key: value for key, value in given.items() if value is not None}
    if not isinstance(made, Network):
        if parameters:
            option = "--" + next(iter(parameters)).replace("_", "-")
            raise InputError(f"{option} is for networks; give --detector gcn, gat, gin or sage with it.")
        return name
    made.set_params(**parameters)
    return made


modelled = expand("classifier", OPTIONS, choose_model)
"""Gives a command the options about the model, in place of its parameter `classifier`."""
