"""Tables that are no files but stand in a database: their addresses, without ever showing a password.

    postgresql://USER:PASSWORD@HOST/NAME#TABLE         any database that SQLAlchemy speaks to
    sqlite:///FILE#SELECT * FROM accounts WHERE …      a query in place of a table
    duckdb:///FILE.duckdb#SCHEMA.TABLE                 a DuckDB file

A `#` inside a password is written %23.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calirare.errors import InputError

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+]*://")
_PASSWORD = re.compile(r"(://[^:/@\s]*):[^\s]*@(?=[^@\s]*)")
_NAMED_PASSWORD = re.compile(r"([?&](?:password|passwd|pwd|token|\w+_token)=)[^&#\s]*", re.IGNORECASE)
_QUERY = re.compile(r"^\s*(select|with|from)\s", re.IGNORECASE)


def is_address(table: Any) -> bool:
    """Whether a text is the address of a table in a database.

    >>> is_address("postgresql://db/cases#nodes"), is_address("nodes.csv"), is_address(r"C:\\nodes.csv")
    (True, False, False)
    """
    return isinstance(table, str) and _SCHEME.match(table) is not None


def hide_passwords(text: str) -> str:
    """The text with stars for what looks like a password in an address.

    >>> hide_passwords("postgresql://ada:s3cret@db/cases#nodes cannot be read")  # pragma: allowlist secret
    'postgresql://ada:***@db/cases#nodes cannot be read'
    """
    return _NAMED_PASSWORD.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


@dataclass(frozen=True)
class Address:
    """A table or a query in a database.

    Args:
        url: The database; it may hold a password.
        target: Table, `schema.table`, or a query.
    """

    url: str
    target: str

    @classmethod
    def parse(cls, text: str, what: str) -> Address:
        """From `URL#TABLE` or `URL#QUERY`; `what` names the argument in messages."""
        url, _, target = text.partition("#")
        if not target.strip():
            shown = hide_passwords(url)
            raise InputError(f"{what}: {shown} must end in #TABLE or #SELECT …, to say which table of the database.")
        return cls(url, target.strip())

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __str__(self) -> str:
        """The address for people, without the password."""
        return hide_passwords(f"{self.url}#{self.target}")

    @property
    def is_query(self) -> bool:
        return _QUERY.match(self.target) is not None

    @property
    def name(self) -> str:
        """What to call the table; nothing for a query."""
        return "" if self.is_query else self.target.rpartition(".")[2]

    @property
    def is_duckdb(self) -> bool:
        return self.url.lower().startswith("duckdb://")

    @property
    def duckdb_file(self) -> str:
        """The file of a DuckDB address."""
        file = self.url.split("://", 1)[1].removeprefix("/")
        if not file:
            raise InputError("a DuckDB address names a file: duckdb:///FILE.duckdb#TABLE.")
        return file


def table_name(table: Any) -> str:
    """What to call a table: the stem of its file, or its name in a database; "" for a query, or a frame.

    >>> table_name("data/nodes.csv.gz"), table_name("sqlite:///cases.db#main.nodes"), table_name({"id": [1]})
    ('nodes', 'nodes', '')
    """
    if not isinstance(table, (str, os.PathLike)):
        return ""
    if is_address(table):
        return Address.parse(str(table), "tables").name
    return Path(table).name.removesuffix(".gz").rsplit(".", 1)[0]
