"""What the service counts and times, for Prometheus."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)

from calirare import __version__

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Counts:
    """The counts of one service, in a registry of its own, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "calirare_requests", "Requests by route and status.", ["route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "calirare_request_duration_seconds", "Time to answer.", ["route"], buckets=_SECONDS, registry=self.registry
        )
        self.scored = Counter("calirare_nodes_scored", "Nodes scored from their surroundings.", registry=self.registry)
        self.reloads = Counter("calirare_reloads", "Reloads by outcome.", ["outcome"], registry=self.registry)
        self._nodes = Gauge("calirare_nodes", "Nodes of the network.", registry=self.registry)
        self._loaded = Gauge(
            "calirare_model_loaded_timestamp_seconds", "When the model was loaded.", registry=self.registry
        )
        self._model = Info("calirare_model", "The model in use.", registry=self.registry)
        ProcessCollector(registry=self.registry)  # processor time, memory, open files

    def note_model(self, version: str, nodes: int, since: float) -> None:
        self._model.info({"version": version, "calirare": __version__})
        self._nodes.set(nodes)
        self._loaded.set(since)

    def answered(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """What Prometheus reads."""
        return generate_latest(self.registry)
