"""Strangers who send a byte now and then, and somebody who asks meanwhile."""

from __future__ import annotations

import http.client
import socket
import threading
import time


def address_of(server):
    return "127.0.0.1", int(server.url.rsplit(":", 1)[1])


def ask(server, path="/export/decisions.csv", timeout=10):
    """(status, seconds) of one request over a connection of its own."""
    start = time.monotonic()
    line = http.client.HTTPConnection(*address_of(server), timeout=timeout)
    try:
        line.request("GET", path)
        return line.getresponse().status, time.monotonic() - start
    finally:
        line.close()


class Drippers:
    """Connections that send one byte of a request now and then, and come again when they are closed."""

    def __init__(self, server, count, head=b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "):
        self.address, self.count, self.head = address_of(server), count, head
        self.sockets = [self._connect() for _ in range(count)]
        self.closed, self._stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._drip, daemon=True)
        self._thread.start()

    def _connect(self):
        line = socket.create_connection(self.address, timeout=5)
        line.sendall(self.head)
        return line

    def _drip(self):
        while not self._stop.wait(0.2):
            for place, line in enumerate(self.sockets):
                try:
                    line.sendall(b"x")
                except OSError:
                    self.closed += 1
                    line.close()
                    try:
                        self.sockets[place] = self._connect()
                    except OSError:
                        pass

    def stop(self):
        self._stop.set()
        self._thread.join()
        for line in self.sockets:
            line.close()
