"""The command line: it parses, calls the library and prints. It decides nothing."""

from __future__ import annotations

import sys


def run() -> None:
    """Start the program; the entry point `calirare`."""
    # A path in another encoding, or a terminal without ours, is no reason to fail.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
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
