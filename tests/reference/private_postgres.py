"""A PostgreSQL server of our own: a child process on loopback, gone when done. For tests and benchmarks."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoPostgresError(Exception):
    """This machine cannot run one; the message says why."""


def find_programs() -> Path | None:
    """The folder with PostgreSQL's programs, or None."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


@contextmanager
def private_postgres() -> Iterator[str]:
    """The address of an empty server."""
    programs = find_programs()
    if programs is None:
        raise NoPostgresError("no PostgreSQL server on this machine")
    user: dict[str, int] = {}
    # Not in pytest's folder: another session would close that to other users while ours runs.
    folder = Path(tempfile.mkdtemp(prefix="calirare-postgres-"))
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        try:
            entry = pwd.getpwnam("postgres")
        except KeyError:
            raise NoPostgresError("running as root, and there is no user postgres to start the server as") from None
        user = {"user": entry.pw_uid, "group": entry.pw_gid}
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": str(folder), "max_connections": "200"}
    words = [f"--{name}={value}" for name, value in options.items()]
    made = ["initdb", "-D", f"{folder}/data", "-U", "desk", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]
    with (folder / "log").open("w+") as log:
        streams = {"stdout": log, "stderr": log, "cwd": folder}
        try:
            done = subprocess.run([programs / made[0], *made[1:]], timeout=120, check=False, **streams, **user)
            if done.returncode:
                raise NoPostgresError(f"initdb failed: {(folder / 'log').read_text()[-500:]}")
            server = subprocess.Popen(
                [programs / "postgres", "-D", f"{folder}/data", "-p", str(port), *words], **streams, **user
            )
            try:
                _wait_until_it_answers(server, port, folder / "log")
                yield f"postgresql://desk@127.0.0.1:{port}/postgres"
            finally:
                server.send_signal(signal.SIGINT)  # its "fast" end: open connections are closed
                server.wait(60)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _wait_until_it_answers(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(f"postgresql://desk@127.0.0.1:{port}/postgres", connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise NoPostgresError(f"the server did not start: {log.read_text()[-500:]}") from None
            time.sleep(0.1)
