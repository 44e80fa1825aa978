# SPDX-License-Identifier: Apache-2.0
"""Where a table is, in one spelling: several texts may name one place, and a lock must not care."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import unquote

from airflow_hudi.core.errors import NotAbsolute

LOCAL = "file"
_SPELLINGS = {"s3a": "s3", "s3n": "s3"}
# Java writes file:/lake with one slash, so one is enough to make a scheme.
_URI = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?=/)(?://(?P<host>[^/]*))?(?P<path>/.*|)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Place:
    """An absolute path or URI in its parts, spelled in one way only."""

    scheme: str
    host: str
    """A bucket, a name node; empty on the local disk."""
    path: str

    def __str__(self) -> str:
        return self.path if self.scheme == LOCAL else f"{self.scheme}://{self.host}{self.path}"


def place(uri: str) -> Place:
    """The place that a path or URI names, or :class:`NotAbsolute`.

    ``s3a`` is ``s3``; ``file:/lake``, ``file:///lake`` and ``/lake`` are one; slashes too many are
    taken out. Links are not followed: nothing is looked at.
    """
    if uri.startswith("/"):
        return Place(LOCAL, "", _normal(uri))
    match = _URI.fullmatch(uri)
    if match is None:
        raise NotAbsolute(uri)
    scheme = match["scheme"].lower()
    if scheme == LOCAL:
        path = unquote(match["path"], errors="surrogateescape")
        return Place(LOCAL, "", _normal(path))
    return Place(_SPELLINGS.get(scheme, scheme), match["host"] or "", _normal(match["path"]))


def is_absolute(text: str) -> bool:
    """Whether a text means the same place wherever it is read."""
    return text.startswith("/") or _URI.fullmatch(text) is not None


def _normal(path: str) -> str:
    # normpath keeps two leading slashes, which POSIX allows to mean something; here they do not.
    normal = posixpath.normpath("/" + path.lstrip("/"))
    return "" if normal == "/" else normal
