"""Which letters the bytes of a text file stand for, where they are not UTF-8 but plainly something else.

UTF-16 says so in its first two bytes. Windows-1252, as spreadsheets in Western Europe and the Americas save CSV, does not: it is
believed where every byte beyond ASCII is a letter of its languages within a word, or a sign that stands between words. Other encodings
of the same bytes then make no words: runs of foreign letters (Russian, Greek, Chinese), signs within words (Polish, files of DOS or
of the Mac). A file in UTF-8 with a broken byte has such letters in UTF-8, and is not believed either.
"""

from __future__ import annotations

import codecs
import re

_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüœŒ"
_SIGNS = "€£§°²³µ·–—…«»“”„‘’‚¿¡ºª®©™×±½¼¾\u00a0"
_STRANGE = re.compile(
    rf"[^\x00-\x7f{_LETTERS}{_SIGNS}]|[{_LETTERS}]{{4}}|[a-zA-Z{_LETTERS}][{_SIGNS.replace('’', '').replace('‘', '')}][a-z{_LETTERS}]"
    rf"|[{_LETTERS}][€£§²³µ¿¡ºª®©±½¼¾]|[€£§²³µ¿¡®©±½¼¾][{_LETTERS}]"
)
_WESTERN = re.compile(rf"[{_LETTERS}{_SIGNS}]")
_MOST_WORDS = 3


def as_utf8(content: bytes) -> tuple[bytes, str]:
    """The same text in UTF-8, and the name of the encoding that it was in; the bytes as they are and "" where nobody can tell.

    >>> as_utf8("Größe".encode("cp1252"))[1], as_utf8("Größe".encode("utf-16"))[1], as_utf8("Пётр Иванов".encode("cp1251"))[1]
    ('Windows-1252', 'UTF-16', '')
    """
    if content.startswith(codecs.BOM_UTF32_LE) or _is_utf8(content):  # the former begins as UTF-16 does
        return content, ""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding, name = "utf-16", "UTF-16"
    else:
        encoding, name = "cp1252", "Windows-1252"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return content, ""
    if encoding == "cp1252" and (_STRANGE.search(text) or _WESTERN.search(content.decode(errors="replace"))):
        return content, ""
    return text.encode(), name


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def words_beyond_ascii(content: bytes) -> list[str]:
    """Some words of a text in UTF-8 that are not plain ASCII, to see by them whether the letters are right.

    >>> words_beyond_ascii("id;Größe;Straße\\n1;2;Größe".encode())
    ['Größe', 'Straße']
    """
    found: dict[str, None] = {}
    for word in re.finditer(r"\w*[^\W\d_a-zA-Z]\w*", content.decode(errors="replace")):
        found[word.group()] = None
        if len(found) == _MOST_WORDS:
            break
    return list(found)
