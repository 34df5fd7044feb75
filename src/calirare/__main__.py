"""`python -m calirare` is `calirare`."""

from calirare.cli import run

if __name__ == "__main__":
    run()
