# SPDX-License-Identifier: Apache-2.0
"""A Hudi table as an Airflow asset: one spelling of its URI, there and back.

===============================  ================================
the table                        the asset
===============================  ================================
``s3a://bucket/lake/orders/``    ``hudi://s3/bucket/lake/orders``
``file:///lake/orders``          ``hudi://file/lake/orders``
``/lake/all orders``             ``hudi://file/lake/all%20orders``
===============================  ================================

Airflow loads this module wherever an asset of scheme ``hudi`` is made, so it imports next to
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from airflow_hudi.core.errors import InvalidAssetUri, NotAbsolute
from airflow_hudi.core.uris import LOCAL, Place, place

if TYPE_CHECKING:
    from airflow.sdk import Asset

SCHEME = "hudi"
_PLAIN = "/=:,+!$&'()*;~@"  # as they are in a path; @ is refused where it would be a password


def hudi_asset(
    table_uri: str,
    *,
    name: str | None = None,
    group: str | None = None,
    extra: dict[str, Any] | None = None,
) -> Asset:
    """The asset of the table at a path or URI.

    :param table_uri: the table's base path or URI
    :param name: the asset's name in Airflow, if not its URI
    :param group: the asset's group in Airflow
    :param extra: what Airflow is to keep beside it
    """
    from airflow.sdk import Asset  # noqa: PLC0415 - slow

    uri = _asset_uri(_checked(place(table_uri), table_uri))
    known = {"group": group, "extra": extra}
    given: dict[str, Any] = {key: value for key, value in known.items() if value is not None}
    return Asset(name or uri, uri, **given)


def table_uri_of(asset_uri: str) -> str:
    """The table's path or URI; the way back from :func:`hudi_asset`."""
    return str(_place(urlsplit(asset_uri)))


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """The asset's URI in its one spelling, or :class:`InvalidAssetUri`; Airflow calls it."""
    return urlsplit(_asset_uri(_place(uri)))


def _asset_uri(where: Place) -> str:
    path = where.path if where.scheme == LOCAL else f"/{where.host}{where.path}"
    return f"{SCHEME}://{where.scheme}{quote(path, safe=_PLAIN, errors='surrogateescape')}"


def _place(uri: SplitResult) -> Place:
    shown = _without_secrets(uri)
    if uri.scheme.lower() != SCHEME:
        raise InvalidAssetUri(shown, f"its scheme is not {SCHEME}")
    if uri.query or uri.fragment:
        raise InvalidAssetUri(shown, "a table has neither a query nor a fragment")
    if "@" in uri.netloc:
        raise InvalidAssetUri(shown, "credentials have no place in it")
    path = unquote(uri.path, errors="surrogateescape")
    if ".." in path.split("/"):
        raise InvalidAssetUri(shown, "'..' may lead anywhere")
    try:
        where = place(path if uri.netloc.lower() == LOCAL else f"{uri.netloc}:/{path}")
    except NotAbsolute as error:
        raise InvalidAssetUri(shown, "the kind of storage or the path is missing") from error
    return _checked(where, shown)


def _checked(where: Place, shown: str) -> Place:
    if "@" in where.host:
        raise InvalidAssetUri(_hidden(shown), "credentials have no place in it")
    if not (where.path if where.scheme == LOCAL else where.host):
        raise InvalidAssetUri(shown, "the path is missing")
    return where


def _without_secrets(uri: SplitResult) -> str:
    host = _hidden(uri.netloc)
    return uri._replace(netloc=host, query="…" if uri.query else "", fragment="").geturl()


def _hidden(text: str) -> str:
    before, at, host = text.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return f"{scheme}{slashes}…@{host}" if slashes else f"…@{host}" if at else host
