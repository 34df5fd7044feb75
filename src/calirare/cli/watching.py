"""The series that `calirare monitor` reads: opened, and fed by the commands that score."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calirare.cli.expand import expand
from calirare.cli.options import Db, Monitor, Network
from calirare.errors import CalirareError, MissingDependencyError

if TYPE_CHECKING:
    import numpy as np

    from calirare.evaluation.monitoring.series import Series


@contextmanager
def opened_series(model: Path, db: str | None, network: str) -> Iterator[Series]:
    """The series in the database of the decisions."""
    from calirare.evaluation.monitoring.series import Series
    from calirare.review.store.database import Database, database_url

    database = Database(database_url(model if db is None else db))
    try:
        yield Series(database, network)
    finally:
        database.close()


@dataclass(frozen=True)
class Watching:
    """Whether the runs of a command are added to the series, and to which."""

    monitor: bool
    db: str | None
    network: str

    def take(
        self,
        model: Path,
        classifier: Any,
        probability: np.ndarray,
        command: str,
        *,
        version: str | None = None,
        **made: Any,
    ) -> None:
        """Add a scoring run; what goes wrong is said on stderr, for the scores are written already."""
        if not self.monitor or not probability.size:
            return  # where every node has a label, nothing was scored that a label did not make
        try:
            from calirare.evaluation.monitoring.feeding import reference_for, take_run
            from calirare.persistence.folder import load_graph, model_version

            version = version or model_version(model)
            with opened_series(model, self.db, self.network) as series:
                try:
                    graph = load_graph(model)
                except CalirareError:  # saved without one
                    graph = None
                reference = reference_for(series, version, classifier, graph)
                take_run(series, version, classifier, reference, probability, command=command, **made)
        except MissingDependencyError as error:
            if self.db is not None:
                raise error
        except CalirareError as error:
            words = " ".join(str(error).split())
            sys.stderr.write(f"Note: this run is not in the series of `calirare monitor`: {words}\n")


watched = expand("watching", {"monitor": (Monitor, True), "db": (Db, None), "network": (Network, "")}, Watching)
"""Gives a command the options about the series, in place of its parameter `watching`."""
