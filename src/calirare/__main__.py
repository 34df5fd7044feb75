"""`python -m calirare` is `calirare`: for a machine on which the program is not on the path."""

from calirare.cli import run

if __name__ == "__main__":
    run()
