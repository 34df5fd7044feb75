"""How many requests a client may send: a bucket per address that fills steadily."""

from __future__ import annotations

import time
from collections import OrderedDict

_MOST_CLIENTS = 10_000


class RateLimit:
    """A client may send `rate` requests a second, and as many at once after a second of silence.

    Args:
        rate: Requests a second for each client; 0: no limit.

    >>> limit = RateLimit(2)
    >>> [limit.wait("a", now=0.0) for _ in range(3)], limit.wait("b", now=0.0), limit.wait("a", now=0.5)
    ([0.0, 0.0, 0.5], 0.0, 0.0)
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float | None = None) -> float:
        """0 where the request may pass, else the seconds until the next one may. One thread asks, the server's loop."""
        if not self.rate:
            return 0.0
        now = time.monotonic() if now is None else now
        left, at = self._buckets.get(client, (max(1.0, self.rate), now))
        left = min(max(1.0, self.rate), left + (now - at) * self.rate)
        passes = left >= 1.0
        self._buckets[client] = (left - 1.0 if passes else left, now)
        self._buckets.move_to_end(client)
        while len(self._buckets) > _MOST_CLIENTS:  # a flood of addresses must not fill the memory
            self._buckets.popitem(last=False)
        return 0.0 if passes else (1.0 - left) / self.rate
