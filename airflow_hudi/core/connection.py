# SPDX-License-Identifier: Apache-2.0
"""A connection of type ``hudi`` as a value: what its fields mean, and a refusal of all else.

Airflow hands over the same connection in three shapes: the form's fields, the JSON of an
environment variable, and a URI. A URI may put the folders of a path into ``schema``:

========================================  ======================  ===============
the URI                                   host                    schema
========================================  ======================  ===============
``hudi:///data/lake``                     (none)                  ``data/lake``
``hudi://s3://bucket/lake``               ``s3://bucket``         ``lake``
``hudi://s3%3A%2F%2Fbucket%2Flake``       ``s3://bucket/lake``    (none)
``hudi://?warehouse=s3%3A%2F%2Fbucket``   (none)                  (none)
========================================  ======================  ===============
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from airflow_hudi.core.errors import InvalidSetting, UnknownSetting
from airflow_hudi.core.locks import LockKind, LockSettings, ZooKeeper, check_lock
from airflow_hudi.core.storage.base import checked_path
from airflow_hudi.core.uris import LOCAL, is_absolute, place
from airflow_hudi.core.versions import RELEASE_NAMES, release

NEWEST_RELEASE = RELEASE_NAMES[-1]
CONTROL_FOLDER = ".hudi_control"
SHIP_INSTALLED = "installed"
SHIP_ZIP = "zip"

_WEB_PAGE = re.compile(r"https?://[A-Za-z0-9_.:\[\]-]+(?:/[A-Za-z0-9_./-]*)?")
_SERVED = "an absolute path, file://…, s3://bucket/… or s3a://bucket/…"


@dataclass(frozen=True, slots=True)
class HudiSettings:
    """Where the tables are, and how jobs on them run."""

    warehouse: str
    """The folder the tables are in, without a slash at its end."""
    release: str = NEWEST_RELEASE
    """The Hudi release the jobs use."""
    spark_conn_id: str = "spark_default"
    lock: LockSettings = field(default_factory=LockSettings)
    control: str = ""
    """Where jobs leave their records; empty: beside the tables (see :attr:`control_uri`)."""
    bundle: str | None = None
    """The Hudi bundle's jar on the machine that submits; None: found or downloaded."""
    ship: str = SHIP_INSTALLED
    """How this package reaches the driver: it is there (``installed``), it is packed and sent
    along (``zip``), or it was uploaded (the URI of the zip)."""
    cluster_manager: str = ""
    """Web page of Spark's standalone master or YARN's resource manager, which is asked whether an
    application on another machine is gone; empty: nobody is asked, and silence decides."""

    @property
    def control_uri(self) -> str:
        """Where jobs leave their records."""
        return self.control or f"{self.warehouse}/{CONTROL_FOLDER}"

    def lock_for(self, uri: str) -> LockSettings:
        """The lock of the table at `uri`, or :class:`UnsuitableLock` where it would not lock."""
        check_lock(self.lock, uri)
        return self.lock


def table_uri(settings: HudiSettings, table: str) -> str:
    """Where a table is: a bare name is below the warehouse, a path or URI stays as it is."""
    if is_absolute(table):
        return table.rstrip("/")
    name = checked_path(table)
    if not name:
        allowed = "a name below the warehouse, an absolute path, or a URI"
        raise InvalidSetting("table", table, allowed=allowed)
    return f"{settings.warehouse}/{name}"


def parse_connection(
    *,
    host: str | None = None,
    schema: str | None = None,
    port: int | None = None,
    extra: Mapping[str, object] | None = None,
) -> HudiSettings:
    """The settings that a connection's fields stand for, or the reason why they stand for none.

    Login and password are not looked at: storage and Spark bring credentials of their own.
    """
    fields = _Fields(extra or {})
    if port:
        raise InvalidSetting("port", port, allowed="left empty")
    warehouse = _warehouse(host, schema, fields.text("warehouse"))
    return HudiSettings(
        warehouse=warehouse,
        release=release(fields.text("release") or NEWEST_RELEASE).name,
        spark_conn_id=fields.text("spark_conn_id") or "spark_default",
        lock=_lock(fields, warehouse),
        control=_control(fields.text("control")),
        bundle=_bundle(fields.text("bundle")),
        ship=_ship(fields.text("ship")),
        cluster_manager=_cluster_manager(fields.text("cluster_manager")),
    )


_COMMON = (
    *("warehouse", "release", "spark_conn_id", "lock", "control", "bundle", "ship"),
    "cluster_manager",
)
_OF_LOCK = {
    LockKind.FILESYSTEM: ("lock_patience_seconds", "lock_expiry_minutes"),
    LockKind.ZOOKEEPER: (
        "lock_patience_seconds",
        "zookeeper_hosts",
        "zookeeper_base_path",
        "zookeeper_session_seconds",
        "zookeeper_connection_seconds",
    ),
    LockKind.IN_PROCESS: ("lock_patience_seconds",),
}
EXTRA_FIELDS = (*_COMMON, *dict.fromkeys(name for names in _OF_LOCK.values() for name in names))
"""Every field a connection's extra may have."""


class _Fields:
    """A connection's extra: known fields only, and an empty one is as good as a missing one."""

    def __init__(self, extra: Mapping[str, object]) -> None:
        for name in extra:
            if name not in EXTRA_FIELDS:
                raise UnknownSetting(name, EXTRA_FIELDS)
        self.given = {name: value for name, value in extra.items() if value not in (None, "")}

    def text(self, name: str) -> str:
        value = self.given.get(name, "")
        if not isinstance(value, str):
            raise InvalidSetting(name, value, allowed="a text")
        return value.strip()

    def number(self, name: str) -> int | None:
        value = self.given.get(name)
        if isinstance(value, str) and value.strip().isdecimal():
            return int(value)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise InvalidSetting(name, value, allowed="a whole number")

    def seconds(self, name: str) -> timedelta | None:
        number = self.number(name)
        # Far more than any setting allows, and not too much for a timedelta.
        return None if number is None else timedelta(seconds=min(number, 10**9))


def _warehouse(host: str | None, schema: str | None, extra: str) -> str:
    named = _joined(host or "", (schema or "").strip("/"))
    if named and extra:
        allowed = f"left out, because host names the warehouse already ({named})"
        raise InvalidSetting("warehouse", extra, allowed=allowed)
    uri = (named or extra).strip()
    if not _is_served(uri):
        raise InvalidSetting("warehouse", uri, allowed=f"{_SERVED} (in the field host)")
    return uri.rstrip("/")


def _is_served(uri: str) -> bool:
    """Whether there is a storage for it; nothing is opened."""
    if not is_absolute(uri):
        return False
    named = place(uri)
    return named.scheme == LOCAL or (named.scheme == "s3" and bool(named.host))


def _joined(host: str, schema: str) -> str:
    return f"{host.rstrip('/')}/{schema}" if schema else host


def _lock(fields: _Fields, warehouse: str) -> LockSettings:
    chosen = fields.text("lock")
    if chosen not in ("", *(kind.value for kind in LockKind)):
        kinds = ", ".join(kind.value for kind in LockKind)
        raise InvalidSetting("lock", chosen, allowed=f"one of {kinds}")
    kind = LockKind(chosen or LockKind.FILESYSTEM)
    _refuse_fields_of_other_locks(fields, kind)
    lock = LockSettings(
        kind,
        patience=fields.seconds("lock_patience_seconds"),
        zookeeper=_zookeeper(fields) if kind is LockKind.ZOOKEEPER else None,
        **_present(expiry_minutes=fields.number("lock_expiry_minutes")),
    )
    if chosen:  # what nobody chose is refused when a job asks for it; readers need no lock
        check_lock(lock, warehouse)
    return lock


def _refuse_fields_of_other_locks(fields: _Fields, kind: LockKind) -> None:
    # Most likely the lock itself was forgotten, and a wrong one must not be taken silently.
    for name, value in fields.given.items():
        if name not in (*_COMMON, *_OF_LOCK[kind]):
            (owner,) = (other.value for other in LockKind if name in _OF_LOCK[other])
            allowed = f"left out: it belongs to the lock {owner!r}, and the lock is {kind.value!r}"
            raise InvalidSetting(name, value, allowed=allowed)


def _zookeeper(fields: _Fields) -> ZooKeeper:
    return ZooKeeper(
        fields.text("zookeeper_hosts"),
        **_present(
            base_path=fields.text("zookeeper_base_path").rstrip("/") or None,
            session_timeout=fields.seconds("zookeeper_session_seconds"),
            connection_timeout=fields.seconds("zookeeper_connection_seconds"),
        ),
    )


def _present(**arguments: Any) -> dict[str, Any]:
    """Those that were given; the others keep their defaults."""
    return {name: value for name, value in arguments.items() if value is not None}


def _control(uri: str) -> str:
    if uri and not _is_served(uri):
        raise InvalidSetting("control", uri, allowed=f"{_SERVED}, or left empty")
    return uri.rstrip("/")


def _bundle(path: str) -> str | None:
    if path and not (is_absolute(path) and path.endswith(".jar")):
        allowed = "the absolute path of a .jar, or left empty"
        raise InvalidSetting("bundle", path, allowed=allowed)
    return path or None


def _cluster_manager(url: str) -> str:
    if url and not _WEB_PAGE.fullmatch(url):
        allowed = "the URL of its web page without a login, such as http://master:8080"
        raise InvalidSetting("cluster_manager", url, allowed=allowed)
    return url.rstrip("/")


def _ship(way: str) -> str:
    if way in ("", SHIP_INSTALLED, SHIP_ZIP):
        return way or SHIP_INSTALLED
    if not (is_absolute(way) and way.endswith(".zip")):
        allowed = f"{SHIP_INSTALLED!r}, {SHIP_ZIP!r}, or the path or URI of an uploaded .zip"
        raise InvalidSetting("ship", way, allowed=allowed)
    return way
