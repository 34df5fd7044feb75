"""The command line: it parses, calls the library and prints. It decides nothing."""

from __future__ import annotations

import sys

from calirare.cli import streams


def run() -> None:
    """Start the program; the entry point `calirare`."""
    streams.prepare()
    try:
        from calirare.cli.main import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f"Error: the command line needs {error.name}. Run: pip install 'calirare[cli]'", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    app()
