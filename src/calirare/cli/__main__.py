"""`python -m calirare.cli` is `calirare`."""

from calirare.cli import run

if __name__ == "__main__":
    run()
