"""Addresses, names and codes, by what many of them share: a domain, a network, how many digits, how they begin.

Itself each names one person, machine or thing.
"""

from __future__ import annotations

import numpy as np

from calirare.data.tables.libraries import pl

MAIL, HOST, NAME, CODE = "mail", "host", "name", "code"
FORMS = (MAIL, HOST, NAME, CODE)
NOT_SHARED = {
    MAIL: "addresses of mail without a domain that comes again",
    HOST: "addresses of hosts without a common network",
    NAME: "names or identifiers, each of its own",
    CODE: "codes without a common beginning",
}
"""The reason given for a column that is not used."""
_IS_MAIL = r"^[^\s@]+@[^\s@]+$"
_OLD, _NEW, _CARD = (
    r"^\d{1,3}(\.\d{1,3}){3}(:\d+|/\d+)?$",
    r"^(([\da-f]{1,4}:){7}[\da-f]{1,4}|[\da-f:]*::[\da-f:.]*)(%\w+|/\d+)?$",
    r"^[\da-f]{2}([:-][\da-f]{2}){5}$|^[\da-f]{4}(\.[\da-f]{4}){2}$",
)
"""Match addresses of the internet, old and new, and of network cards."""
_MANY_DIGITS = 4
_DIGITS = (2, _MANY_DIGITS, 6)
_SHORT, _LONG = (5, 8), (12, 16)
_BEGINNINGS = tuple(range(1, 9))
"""Characters of a code that are its beginning."""
_MOST_BEGINNINGS = 200
_MOST_LOOKED_AT = 10_000
_SHAPES, _OF_A_SHAPE = 3, 0.9
"""Codes are of so few shapes, but for a tenth of them: as long, with other signs at the same places."""
_FEWEST = 5
"""Codes per beginning that chance would give, so that a beginning that nobody has says something."""
_NEARLY = 3
"""Numbers in a range of so many times their count run on."""
_UNEVEN = 6.0
"""Standard deviations of chi-squared by which beginnings must be uneven."""
_SIGNS = {"_": "an underscore", ".": "a full stop", "-": "a hyphen", " ": "a blank"}


def form_of(known: pl.Series) -> str:
    """`"host"` where texts are all addresses of hosts, `"mail"` where most are of mail, else empty.

    >>> import polars as pl
    >>> [form_of(pl.Series([one])) for one in ("10.0.0.7", "2001:db8::7", "00:1A:2B:3C:4D:5E", "ann@example.org", "Ann")]
    ['host', 'host', 'host', 'mail', '']
    """
    if known.str.to_lowercase().str.contains(f"{_OLD}|{_NEW}|{_CARD}").all():
        return HOST
    return MAIL if 2 * known.str.contains(_IS_MAIL).sum() > known.len() else ""


def are_made_up(known: pl.Series) -> bool:
    """Whether names are made in different ways, as people do, and not numbered, or of one form.

    >>> import polars as pl
    >>> [are_made_up(pl.Series(some)) for some in (["ann84", "bo_x", "cy.dahl"], ["user 1", "user 20"], ["a81f", "04bc"])]
    [True, False, False]
    """
    made = known.str.replace_all(r"\d+", "").value_counts(name="times")["times"]
    return bool(2 * made.max() < known.len() and known.str.len_chars().n_unique() > 1)  # type: ignore[operator]


def are_codes(known: pl.Series) -> bool:
    """Whether texts are built alike and begin unevenly: batches of serial numbers, postcodes, banks; no random or running numbers.

    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> batch, number = rng.choice([103, 214, 377, 512], 400, p=[0.4, 0.3, 0.2, 0.1]), rng.permutation(400)
    >>> are_codes(pl.Series([f"SN-{a}-{b:03}" for a, b in zip(batch, number)]))
    True
    >>> [are_codes(pl.Series([form.format(b) for b in number])) for form in ("SN-{:06}", "SN-{}", "SN-9{:04}7")]
    [False, False, False]
    """
    some = known.gather_every(max(1, known.len() // _MOST_LOOKED_AT)).str.to_lowercase()
    shapes = some.str.replace_all(r"[\p{L}\d]", "x").value_counts(name="times")["times"].sort(descending=True)
    number = some.str.extract(r"(\d+)$").cast(pl.Float64).drop_nulls().to_numpy()
    apart = float(np.ptp(number)) if number.size else 0.0
    numbered = some.str.replace(r"\d+$", "").n_unique() == 1 and apart < _NEARLY * known.len()
    if shapes.head(_SHAPES).sum() < _OF_A_SHAPE * some.len() or numbered or not some.str.contains(r"\d").all():
        return False
    return any(_begin_unevenly(some.str.slice(0, length)) for length in _BEGINNINGS)


def _begin_unevenly(beginnings: pl.Series) -> bool:
    counts = beginnings.value_counts(name="times").sort(beginnings.name)
    if not 3 < counts.height <= _MOST_BEGINNINGS:
        return False
    letters = [counts[beginnings.name].str.slice(place, 1).n_unique() for place in range(max(_BEGINNINGS))]
    possible = float(np.prod(letters))
    if 2 * counts.height < possible and beginnings.len() >= _FEWEST * possible:
        return True
    inner = counts["times"].to_numpy()[1:-1].astype(float)  # a range begins and ends somewhere
    chi2 = float(((inner - inner.mean()) ** 2).sum() / inner.mean())
    return bool(inner.mean() >= _FEWEST and chi2 > inner.size - 1 + _UNEVEN * np.sqrt(2 * (inner.size - 1)))


def parts_of(texts: pl.Series, form: str) -> pl.Series:
    """Each address's parts that others may have too; the name before the @ is told by how many digits it has.

    >>> import polars as pl
    >>> parts_of(pl.Series(["Ann.1984@mail.example.org"]), MAIL).to_list()
    [['@mail.example.org', '.org', 'a digit', '4 digits']]
    >>> parts_of(pl.Series(["Ann.1984", "bo", None]), NAME).to_list()
    [['a digit', '2 digits', '4 digits', 'at most 8 characters', 'a full stop'], ['at most 5 characters', 'at most 8 characters'], []]
    >>> parts_of(pl.Series(["SN-4f", "7"]), CODE).to_list()
    [['s*', 'sn*', 'sn-4*'], []]
    >>> parts_of(pl.Series(["10.1.2.3:80", "2001:db8:0:1::7", "00-1A-2B-3C-4D-5E", "?"]), HOST).to_list()
    [['10.*', '10.1.*', '10.1.2.*'], ['2001:*', '2001:db8:*', '2001:db8:0:*'], ['00:1a:2b:*'], []]
    """
    text = pl.col("text")
    parts = {MAIL: _parts_of_mail, HOST: _parts_of_hosts, NAME: _parts_of_names, CODE: _parts_of_codes}[form](text)
    small = texts.str.to_lowercase().str.strip_chars().to_frame("text")
    return small.select(pl.concat_list(parts).list.drop_nulls().list.unique(maintain_order=True)).to_series()


def _parts_of_mail(text: pl.Expr) -> list[pl.Expr]:
    address = pl.when(text.str.contains(_IS_MAIL)).then(text)
    digits = address.str.extract(r"^([^@]+)").str.count_matches(r"\d")
    return [
        address.str.extract(r"(@[^@]+)$"),
        address.str.extract(r"(\.[^.@]+)$"),
        pl.when(digits > 0).then(pl.lit("a digit")),
        pl.when(digits >= _MANY_DIGITS).then(pl.lit(f"{_MANY_DIGITS} digits")),
    ]


def _parts_of_hosts(text: pl.Expr) -> list[pl.Expr]:
    old, new, card = (pl.when(text.str.contains(form)).then(text) for form in (_OLD, _NEW, _CARD))
    bare = card.str.replace_all(r"[^\da-f]", "")
    return [
        *(old.str.extract(rf"^((\d+\.){{{count}}})") + "*" for count in (1, 2, 3)),
        *(new.str.extract(rf"^(([\da-f]+:){{{count}}})") + "*" for count in (1, 2, 3)),
        pl.concat_str([bare.str.slice(place, 2) for place in (0, 2, 4)], separator=":") + ":*",
    ]


def _parts_of_names(text: pl.Expr) -> list[pl.Expr]:
    """How a name is made; the name itself is nobody else's."""
    digits, length = text.str.count_matches(r"\d"), text.str.len_chars()
    found = {"a digit": digits > 0}
    found |= {f"{count} digits": digits >= count for count in _DIGITS}
    found |= {f"at most {count} characters": length <= count for count in _SHORT}
    found |= {f"{count} characters": length >= count for count in _LONG}
    found |= {said: text.str.contains(sign, literal=True) for sign, said in _SIGNS.items()}
    return [pl.when(there).then(pl.lit(said)) for said, there in found.items()]


def _parts_of_codes(text: pl.Expr) -> list[pl.Expr]:
    """Its beginnings, but for the whole code, each ending in a letter or digit: signs between them say nothing more."""
    begun = (text.str.slice(0, length) for length in _BEGINNINGS)
    return [
        pl.when((text.str.len_chars() > length) & one.str.contains(r"[\p{L}\d]$")).then(one + "*")
        for length, one in zip(_BEGINNINGS, begun, strict=True)
    ]
