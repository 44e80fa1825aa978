# SPDX-License-Identifier: Apache-2.0
"""What Hudi can answer to a job, named after the fact; the root of the tree is in ``errors``.

::

    AirflowHudiError
    ├── RecordsRejected                       uri, instant
    ├── CheckSkipped                          uri, instant, operation
    └── ConcurrencyError
        ├── WriteConflict                     uri, because
        ├── InstantNotPending                 uri, instant
        └── SomebodyIsAlive                   uri, instant
"""

from __future__ import annotations

from airflow_hudi.core.errors import AirflowHudiError, ConcurrencyError


class RecordsRejected(AirflowHudiError):
    """Hudi could not write some of the records, and therefore committed none."""

    def __init__(self, uri: str, instant: str | None) -> None:
        self.uri = uri
        self.instant = instant
        super().__init__(
            f"some records could not be written to {uri} ({instant}); nothing was committed, and"
            " the instant is pending until it is rolled back: the driver's log names the records"
        )


class CheckSkipped(AirflowHudiError):
    """Hudi committed a write without the check that was to come before the commit."""

    def __init__(self, uri: str, instant: str, operation: str) -> None:
        self.uri = uri
        self.instant = instant
        self.operation = operation
        super().__init__(
            f"{uri} has the new commit {instant} ({operation}), but Hudi did not call the check"
            " before it: what was to be checked or recorded was not; look at the commit and report"
            " the options of this write as a bug"
        )


class WriteConflict(ConcurrencyError):
    """Another commit changed the same file groups while this write was under way."""

    def __init__(self, uri: str, because: str) -> None:
        self.uri = uri
        self.because = because
        super().__init__(
            f"another commit on {uri} changed the same files meanwhile, nothing was committed:"
            f" write again from the table's new state ({because})"
        )


class InstantNotPending(ConcurrencyError):
    """An instant to be worked on is completed, rolled back, or was never there."""

    def __init__(self, uri: str, instant: str) -> None:
        self.uri = uri
        self.instant = instant
        super().__init__(
            f"{instant} is not pending on {uri} (any more): somebody completed it or rolled it"
            " back; nothing was changed, look at the timeline again"
        )


class SomebodyIsAlive(ConcurrencyError):
    """An instant that was to be rolled back has a heartbeat."""

    def __init__(self, uri: str, instant: str) -> None:
        self.uri = uri
        self.instant = instant
        super().__init__(
            f"somebody is alive on {instant} of {uri}, so it is not rolled back; nothing was"
            " changed: try again when the heartbeat has expired"
        )
