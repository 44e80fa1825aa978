# SPDX-License-Identifier: Apache-2.0
"""Every error this package raises on purpose, named after the fact it states.

::

    AirflowHudiError                        .retryable = False, facts as attributes
    ├── InvalidInput (ValueError)
    │   ├── InvalidInstant                  text
    │   ├── InvalidTimezone                 name
    │   ├── InvalidSetting                  setting, value, allowed
    │   ├── UnknownSetting                  setting, known
    │   ├── NotAbsolute                     place
    │   ├── UnsuitableLock                  lock, uri
    │   ├── InvalidWait                     because
    │   ├── InvalidAssetUri                 uri, because
    │   ├── NotInWarehouse                  table, warehouse
    │   ├── UnknownStorage                  uri
    │   └── UnsafePath                      path
    ├── UnknownTableVersion (ValueError)    version, known
    ├── UnknownLayout (ValueError)          layout, known
    ├── UnknownRelease (ValueError)         release, known
    ├── UnsupportedFeature                  feature, have, since
    ├── TableNotFound (FileNotFoundError)   uri
    ├── PropertiesUnreadable                uri, because
    ├── MissingPackage (ImportError)        package, needed_for, extra
    ├── EnvironmentProblem                  what, cure   (the Java, Spark or jar of this machine)
    ├── StorageError                        .retryable as the storage judges it
    │   ├── ObjectNotFound (FileNotFoundError)   path
    │   └── OutcomeUnknown                  path: re-read, then decide; never blindly retry
    ├── LockUnreachable                     .retryable = True; where, because
    ├── LockProbeFailed                     step, because, cure
    ├── NoHudiConnection                    conn_id
    ├── TableUnreachable                    .retryable = True; uri, because
    └── ConcurrencyError                    .retryable = True
        ├── FolderLocked (TimeoutError)     folder, waited
        ├── LockNotAcquired (TimeoutError)  uri, because
        ├── LockNotHeld                     where
        ├── ObjectExists (FileExistsError)  path
        └── VersionMismatch                 path, expected

A class takes facts and writes its own sentence: what happened, what it means, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


class AirflowHudiError(Exception):
    """The root: catch it to catch everything this package raises on purpose."""

    retryable = False


class InvalidInput(AirflowHudiError, ValueError):
    """What the caller passed in cannot be used; nothing was read or changed."""


class InvalidInstant(InvalidInput):
    """A text is not an instant time."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} is not an instant time; expected digits as in 20260131093000123"
            " (yyyyMMddHHmmssSSS)"
        )


class InvalidTimezone(InvalidInput):
    """A name is not a time zone of this machine's database."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name!r} is not a known time zone; use a name such as UTC or Europe/Berlin"
        )


class InvalidSetting(InvalidInput):
    """A setting has a value that means nothing."""

    def __init__(self, setting: str, value: object, *, allowed: str) -> None:
        self.setting = setting
        self.value = value
        self.allowed = allowed
        super().__init__(f"{setting} cannot be {value!r:.200}; it must be {allowed}")


class UnknownSetting(InvalidInput):
    """A setting nobody reads: most likely a typo."""

    def __init__(self, setting: str, known: Iterable[str]) -> None:
        self.setting = setting
        self.known = tuple(known)
        super().__init__(
            f"there is no setting {setting!r}; known are {_listed(self.known)} (nothing is ignored"
            " silently: correct the name or remove it)"
        )


class NotAbsolute(InvalidInput):
    """A place whose meaning depends on where a process happens to run."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"{place!r} is neither an absolute path nor a URI; write /lake/orders or"
            " s3://bucket/lake/orders, so that it means the same on every machine"
        )


class UnsuitableLock(InvalidInput):
    """A lock that does not exclude anybody at this place."""

    def __init__(self, lock: str, uri: str) -> None:
        self.lock = lock
        self.uri = uri
        super().__init__(
            f"a {lock} lock cannot guard {uri}: it is for local disks, used by one machine only;"
            " choose the zookeeper lock in the Hudi connection"
        )


class InvalidWait(InvalidInput):
    """What is to be waited for on a table makes no sense."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(f"cannot wait for this: {because}")


class InvalidAssetUri(InvalidInput):
    """A URI is not one of a Hudi table as an Airflow asset."""

    def __init__(self, uri: str, because: str) -> None:
        self.uri = uri
        self.because = because
        super().__init__(
            f"{uri!r} names no Hudi table: {because}; write hudi://s3/bucket/lake/orders or"
            " hudi://file/lake/orders"
        )


class NotInWarehouse(InvalidInput):
    """A table is outside of the place that a connection opens for looking at."""

    def __init__(self, table: str, warehouse: str) -> None:
        self.table = table
        self.warehouse = warehouse
        super().__init__(
            f"{table!r} is not below {warehouse}; only tables of the connection's warehouse are"
            " shown"
        )


class UnknownStorage(InvalidInput):
    """No storage of ours serves this URI."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        super().__init__(
            f"no storage for {uri!r}: use a local path, file://…, or s3://bucket/… (s3a:// too)"
        )


class UnsafePath(InvalidInput):
    """A path would leave the storage's root."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path!r} is not a path inside this storage; pass a relative path without '..'"
        )


class UnknownTableVersion(AirflowHudiError, ValueError):
    """The table's version number is one this package has never seen."""

    def __init__(self, version: int, known: Iterable[int]) -> None:
        self.version = version
        self.known = tuple(known)
        super().__init__(
            f"table version {version} is unknown (known: {_listed(self.known)}); the table may come"
            " from a newer Hudi, so upgrade airflow-hudi before touching it"
        )


class UnknownLayout(AirflowHudiError, ValueError):
    """The table's timeline is stored in a way this package has never seen."""

    def __init__(self, layout: int, known: Iterable[int]) -> None:
        self.layout = layout
        self.known = tuple(known)
        super().__init__(
            f"timeline layout {layout} is unknown (known: {_listed(self.known)}); the table may"
            " come from a newer Hudi, so upgrade airflow-hudi before touching it"
        )


class UnknownRelease(AirflowHudiError, ValueError):
    """The Hudi release is not one this package drives."""

    def __init__(self, release: str, known: Iterable[str]) -> None:
        self.release = release
        self.known = tuple(known)
        super().__init__(
            f"Hudi release {release!r} is not supported; choose one of {_listed(self.known)}"
        )


class UnsupportedFeature(AirflowHudiError):
    """A feature that this table version or Hudi release does not have."""

    def __init__(self, feature: str, *, have: str, since: str) -> None:
        self.feature = feature
        self.have = have
        self.since = since
        super().__init__(f"{feature} is not possible with {have}; it needs {since}")


class TableNotFound(AirflowHudiError, FileNotFoundError):
    """There is no Hudi table at this place."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        super().__init__(
            f"no Hudi table at {uri}: neither .hoodie/hoodie.properties nor its backup exists"
            " there; check the path (the table's base path, not a partition)"
        )


class PropertiesUnreadable(AirflowHudiError):
    """The table's properties exist but cannot be understood."""

    def __init__(self, uri: str, because: str) -> None:
        self.uri = uri
        self.because = because
        super().__init__(
            f"the properties of {uri} cannot be read: {because}; no job can work on this table"
            " until .hoodie/hoodie.properties is restored from a backup"
        )


class MissingPackage(AirflowHudiError, ImportError):
    """An optional Python package is needed for what was asked."""

    def __init__(self, package: str, *, needed_for: str, extra: str | None = None) -> None:
        self.package = package
        self.needed_for = needed_for
        self.extra = extra
        cure = f"pip install 'airflow-hudi[{extra}]'" if extra else f"pip install {package}"
        super().__init__(f"{needed_for} needs the package {package}, which is missing here: {cure}")


class EnvironmentProblem(AirflowHudiError):
    """This machine's Java, Spark or Hudi jar is not usable as it is."""

    def __init__(self, what: str, *, cure: str) -> None:
        self.what = what
        self.cure = cure
        super().__init__(f"{what}: {cure}")


class StorageError(AirflowHudiError):
    """A storage could not do what was asked."""


class ObjectNotFound(StorageError, FileNotFoundError):
    """There is no object at this path (any more)."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path} does not exist (or no longer does)")


class OutcomeUnknown(StorageError):
    """A conditional write may or may not have happened."""

    def __init__(self, path: str, because: str) -> None:
        self.path = path
        self.because = because
        super().__init__(
            f"it is not known whether {path} was written ({because}); read it again and decide,"
            " do not write it blindly a second time"
        )


class LockUnreachable(AirflowHudiError):
    """The service that keeps a lock does not answer; nobody knows who holds it."""

    retryable = True

    def __init__(self, where: str, because: str) -> None:
        self.where = where
        self.because = because
        super().__init__(
            f"the lock at {where} cannot be reached ({because}); no job can commit meanwhile: check"
            " that the service runs and that this machine may connect to it"
        )


class LockProbeFailed(AirflowHudiError):
    """A lock did not behave as a lock when it was tried out."""

    def __init__(self, step: str, *, because: str, cure: str) -> None:
        self.step = step
        self.because = because
        self.cure = cure
        super().__init__(f"the lock failed at the step '{step}': {because}; {cure}")


class NoHudiConnection(AirflowHudiError):
    """A name that is no usable Hudi connection; why not is not for everyone to know."""

    def __init__(self, conn_id: str) -> None:
        self.conn_id = conn_id
        super().__init__(
            f"there is no usable connection {conn_id!r} of type hudi; the server's log says more"
        )


class TableUnreachable(AirflowHudiError):
    """A table's storage failed again and again; later it may be back."""

    retryable = True

    def __init__(self, uri: str, because: str) -> None:
        self.uri = uri
        self.because = because
        super().__init__(f"{uri} cannot be read: {because}; try again when its storage is back")


class ConcurrencyError(AirflowHudiError):
    """Somebody else was there first; trying again later may succeed."""

    retryable = True


class FolderLocked(ConcurrencyError, TimeoutError):
    """Somebody holds a local folder's lock and does not let go of it."""

    def __init__(self, folder: str, waited: float) -> None:
        self.folder = folder
        self.waited = waited
        super().__init__(
            f"another process held the lock of {folder} for {waited:.0f} s, nothing was written; it"
            " may be stopped or hanging: try again, or find it with fuser"
        )


class LockNotAcquired(ConcurrencyError, TimeoutError):
    """The table's lock was not to be had within the time its settings allow."""

    def __init__(self, uri: str, because: str) -> None:
        self.uri = uri
        self.because = because
        super().__init__(
            f"the lock of {uri} was not free in time ({because}); nothing was changed: try again"
            " later, or find out who holds it"
        )


class LockNotHeld(ConcurrencyError):
    """A lock was given back by somebody who does not hold it (any more)."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(
            f"the lock at {where} is not held here (any more); what was done under it may have met"
            " somebody else's work: look at the table's timeline"
        )


class ObjectExists(ConcurrencyError, FileExistsError):
    """The object to be created is already there."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path} exists already; somebody else created it, nothing was written")


class VersionMismatch(ConcurrencyError):
    """The object is no longer the one that was read."""

    def __init__(self, path: str, expected: str) -> None:
        self.path = path
        self.expected = expected
        super().__init__(
            f"{path} is not what was read before (version {expected}); somebody else changed or"
            " removed it, nothing was written: read it again and decide"
        )


def _listed(values: Iterable[object]) -> str:
    return ", ".join(f"{value:d}" if isinstance(value, int) else str(value) for value in values)
