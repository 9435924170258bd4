"""Reader of the XML of an IR, or of a layer pasted from a document; the file is untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lxml import etree

from ir_interp.errors import ReadError
from ir_interp.files.sources import opened
from ir_interp.text.decimals import integer as integer_of
from ir_interp.text.decimals import real as real_of

N = TypeVar("N", int, float)
MAX_BYTES = 2**30
"""The largest XML file that is read."""

_MAX_DIGITS = 18  # 10**18 is below 2**63
_HAS_DOCTYPE = "declares a document type; an IR has none, and entities are not expanded"
_INSIDE_TAG = re.compile(r"<[A-Za-z_][^<>]*>")
_ELLIPSIS = re.compile(r"""("[^"]*"|'[^']*')|(?<=\s)(?:\.\.\.|…)(?=[\s/>])""")
_DOCTYPE = re.compile(rb"<!DOCTYPE")
_ROOT = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>)*<([A-Za-z_][\w.:-]*)", re.DOTALL)
_HEAD = 2**16  # bytes in which the first element has to start
ROOTS = ("net", "layer", "layers")
"""The root elements of an IR and of snippets."""
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def is_foreign(path: Path) -> bool:
    """Say whether an .xml is certainly another program's: its first element is none of an IR, as in a pom.xml."""
    try:
        with opened(path) as file:
            head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf")
    except OSError:
        return False  # an audit reports why
    root = _ROOT.match(head)
    return root is not None and root[1].decode() not in ROOTS


def parse(path: Path) -> etree._Element:
    """Return the root element of an IR (``net``) or of a snippet (``layer``, ``layers``).

    A snippet may consist of several layers without a common root, and contain the ``...`` that documents leave in a
    start tag. Entities are not expanded, and no network or other file is accessed. Raises ReadError for anything else.
    """
    try:
        with opened(path) as file:
            # One byte more shows that the file is larger, even if it grows while it is read.
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ReadError(f"larger than {MAX_BYTES / 2**30:g} GiB", path.name)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from error
    if _DOCTYPE.search(content):  # before the parser meets its entities
        raise ReadError(_HAS_DOCTYPE, path.name)
    try:
        return _parse(content, path.name)
    except etree.XMLSyntaxError as error:
        snippet = _snippet(content)
        if snippet is None:
            raise ReadError(f"not XML: {error.msg}", path.name) from error
        try:
            return _parse(snippet, path.name)
        except etree.XMLSyntaxError:
            raise ReadError(f"not XML: {error.msg}", path.name) from error


def _parse(content: bytes, name: str) -> etree._Element:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(content, parser)
    # In UTF-16 a document type escapes the search for its bytes.
    if root.getroottree().docinfo.doctype:
        raise ReadError(_HAS_DOCTYPE, name)
    return root


def _snippet(content: bytes) -> bytes | None:
    """Return a pasted layer as well-formed XML: no ``...`` inside start tags, one common root."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "<layer" not in text or "<!" in text.replace("<!--", ""):
        return None
    without = _INSIDE_TAG.sub(lambda tag: _ELLIPSIS.sub(lambda part: part[1] or "", tag[0]), text)
    return f"<layers>{_DECLARATION.sub('', without)}</layers>".encode()


def flag(text: str) -> bool:
    """Return a boolean attribute as OpenVINO reads it: 0, 1, true, false in any case."""
    try:
        return {"1": True, "true": True, "0": False, "false": False}[text.strip().lower()]
    except KeyError:
        raise ReadError(f"{text!r} is not a boolean; expected one of 0, 1, false, true") from None


def integer(text: str) -> int:
    """Return an integer attribute."""
    return _number(integer_of, text)


def is_natural(text: str) -> bool:
    """Return whether a text is a non-negative integer of at most 18 digits, which fits 64 bits."""
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS


def natural(text: str | None, where: str) -> int:
    """Return a non-negative integer, such as an id. Raises ReadError for any other text, and for None."""
    if text is None or not is_natural(text.strip()):
        raise ReadError("missing" if text is None else f"{text!r} is not a non-negative integer", where)
    return int(text)


def integers(text: str) -> tuple[int, ...]:
    """Return a list attribute: integers separated by commas; empty for an empty text."""
    try:
        return tuple(map(integer, text.split(","))) if text.strip() else ()
    except ReadError:
        raise ReadError(f"{text!r} is not a list of integers") from None


def real(text: str) -> float:
    """Return a number attribute."""
    return _number(real_of, text)


def reals(text: str) -> tuple[float, ...]:
    """Return a list attribute: numbers separated by commas; empty for an empty text."""
    return tuple(real(part) for part in text.split(",")) if text.strip() else ()


def _number(read: Callable[[str], N], text: str) -> N:
    try:
        return read(text)
    except ValueError as error:
        raise ReadError(str(error)) from None
