# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a job, named after the fact; the root of the tree is in ``errors``.

::

    AirflowHudiError
    ├── InvalidInput (ValueError)
    │   ├── InvalidWork                       what, cure
    │   ├── SecretInSettings                  keys
    │   ├── OptionsContradictTable            table, conflicts
    │   ├── TermsDisagree                     table, disagreements   .retryable as told
    │   ├── MetadataTableLeftBehind           table, partitions
    │   ├── MissingColumns                    missing, needed_for, have
    │   └── SchemaWouldEvolve                 table, changes
    ├── SourceMissing (FileNotFoundError)     source
    ├── SourceEmpty                           source
    ├── FirstWriteInProgress                  table, instant   .retryable = True
    ├── WrongTableType                        table, type, needed
    ├── PlanNotFound                          table, instant
    ├── JobScriptNotFound (FileNotFoundError) script, looked_in
    ├── VersionSkew                           asked_by, here
    ├── JobSuperseded                         job, because     .retryable = True
    ├── JobCancelled                          job              .retryable = True
    ├── JobFailed                             report; .retryable as the job judged it
    ├── DriverDied                            job, because, output    .retryable = True
    ├── JobStillRunning                       job              .retryable = True
    └── OutcomeContradicted                   job, said, seen
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_hudi.core.errors import AirflowHudiError, InvalidInput


class InvalidWork(InvalidInput):
    """What a job was asked to do makes no sense; nothing was started."""

    def __init__(self, what: str, *, cure: str) -> None:
        self.what = what
        self.cure = cure
        super().__init__(f"{what}; {cure}")


class SecretInSettings(InvalidInput):
    """A setting that looks like a secret would end up in a command line or a file."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = tuple(keys)
        super().__init__(
            f"{', '.join(self.keys)} would be readable in the process list and in the job's spec;"
            " give secrets to Spark where it runs (spark-defaults.conf, core-site.xml, an instance"
            " role or the environment of the Spark connection), not to the operator"
        )


class OptionsContradictTable(InvalidInput):
    """Options say something else than the table's own properties."""

    def __init__(self, table: str, conflicts: Mapping[str, tuple[str, str]]) -> None:
        self.table = table
        self.conflicts = dict(conflicts)
        said = "; ".join(
            f"{key} is {has!r} in the table and {asked!r} in the job"
            for key, (has, asked) in conflicts.items()
        )
        super().__init__(
            f"the job contradicts {table}: {said}. The table keeps what it was created with: drop"
            " the option, or write to another table"
        )


class TermsDisagree(InvalidInput):
    """Jobs on one table do not share what all of them must share."""

    def __init__(
        self, table: str, disagreements: Iterable[str], *, cure: str, retryable: bool
    ) -> None:
        self.table = table
        self.disagreements = tuple(disagreements)
        self.cure = cure
        self.retryable = retryable
        super().__init__(
            f"the jobs on {table} do not agree: {'; '.join(self.disagreements)}. Together they"
            f" could undo each other's work or lose data, so nothing was started: {cure}"
        )


class MetadataTableLeftBehind(InvalidInput):
    """The job would not keep up the metadata table that the table has."""

    def __init__(self, table: str, partitions: Iterable[str], *, option: str) -> None:
        self.table = table
        self.partitions = tuple(partitions)
        super().__init__(
            f"{table} has a metadata table ({', '.join(self.partitions)}), and the job says"
            f" {option}=false: the metadata table would go stale, and Hudi would delete it. Nothing"
            f" was started: say {option}=true or drop the option, or delete the metadata table"
            " first if that is meant"
        )


class MissingColumns(InvalidInput):
    """The source lacks columns without which a record has no key, order or partition."""

    def __init__(
        self, missing: Iterable[str], *, needed_for: Mapping[str, str], have: Iterable[str]
    ) -> None:
        self.missing = tuple(missing)
        self.needed_for = dict(needed_for)
        self.have = tuple(have)
        said = ", ".join(f"{name} ({needed_for.get(name, 'column')})" for name in self.missing)
        super().__init__(
            f"the source has no column {said}; it has {', '.join(self.have) or 'no columns'}."
            " Nothing was written: correct the source or the names"
        )


class SchemaWouldEvolve(InvalidInput):
    """The rows would change the table's columns, and nobody asked for that."""

    def __init__(self, table: str, changes: Iterable[str]) -> None:
        self.table = table
        self.changes = tuple(changes)
        super().__init__(
            f"this write would change the columns of {table}: {'; '.join(self.changes)}. Nothing"
            " was written: select the table's columns, or pass evolve_schema=True if it is meant"
        )


class SourceMissing(AirflowHudiError, FileNotFoundError):
    """There is nothing at the source's path."""

    def __init__(self, source: str) -> None:
        self.source = source
        super().__init__(
            f"there is no source at {source}: no such file, or a folder with no file in it; nothing"
            " was written: check the path, or wait for the files with a sensor"
        )


class SourceEmpty(AirflowHudiError):
    """The source is there and has no row."""

    def __init__(self, source: str) -> None:
        self.source = source
        super().__init__(
            f"{source} has no rows; if that is to be expected, pass"
            " when_source_empty='skip' (or 'commit' to record an empty commit)"
        )


class FirstWriteInProgress(AirflowHudiError):
    """Somebody else is writing the first rows of the table."""

    retryable = True

    def __init__(self, table: str, instant: str) -> None:
        self.table = table
        self.instant = instant
        super().__init__(
            f"{table} has no commit yet, and somebody is alive on its first write {instant}; a"
            " first write must not be raced, so nothing was written: try again when it is done"
        )


class WrongTableType(AirflowHudiError):
    """The table is of the other type."""

    def __init__(self, table: str, *, type: str, needed: str, needed_for: str) -> None:  # noqa: A002
        self.table = table
        self.type = type
        self.needed = needed
        super().__init__(
            f"{needed_for} needs a {needed} table, and {table} is {type}; a table keeps its type,"
            " so drop the task or name another table"
        )


class PlanNotFound(AirflowHudiError):
    """The plan to be executed is not on the timeline."""

    def __init__(self, table: str, instant: str, *, because: str) -> None:
        self.table = table
        self.instant = instant
        super().__init__(
            f"there is no plan {instant} to execute on {table}: {because}. Nothing was changed:"
            " schedule a plan, or name none to execute the oldest one"
        )


class JobScriptNotFound(AirflowHudiError, FileNotFoundError):
    """The script of a job is not where it should be."""

    def __init__(self, script: str, looked_in: Iterable[str]) -> None:
        self.script = script
        self.looked_in = tuple(looked_in)
        super().__init__(
            f"the job script {script} is in none of {', '.join(self.looked_in)}; install"
            " airflow-hudi from its wheel, or run from a whole checkout"
        )


class VersionSkew(AirflowHudiError):
    """Operator and driver have different versions of this package."""

    def __init__(self, *, asked_by: str, here: str) -> None:
        self.asked_by = asked_by
        self.here = here
        super().__init__(
            f"the job was written by airflow-hudi {asked_by}, and the driver has {here}; install"
            " one major.minor on both sides, or let the operator ship its own (ship='zip')"
        )


class JobSuperseded(AirflowHudiError):
    """This driver is no longer the one that may act for its job; it must stop at once."""

    retryable = True

    def __init__(self, job: str, *, because: str) -> None:
        self.job = job
        self.because = because
        super().__init__(f"this driver stops, it may no longer act for {job}: {because}")


class JobCancelled(AirflowHudiError):
    """Somebody asked the job to stop: its task was cleared or timed out, or its host goes down."""

    retryable = True

    def __init__(self, job: str) -> None:
        self.job = job
        super().__init__(
            f"{job} was cancelled; what it had not committed is not visible. A retry starts anew"
        )


class JobFailed(AirflowHudiError):
    """The job reported that it failed; the message is the job's own."""

    def __init__(self, message: str, *, kind: str, retryable: bool) -> None:
        self.kind = kind
        self.retryable = retryable
        super().__init__(message)


class DriverDied(AirflowHudiError):
    """The driver ended, or fell silent, without a report."""

    retryable = True

    def __init__(self, job: str, *, because: str, output: str = "") -> None:
        self.job = job
        self.because = because
        self.output = output
        tail = f"\nIts last output:\n{output}" if output else ""
        super().__init__(
            f"the driver of {job} ended without a report ({because}); the table's timeline shows no"
            f" commit of it. A retry starts a new driver.{tail}"
        )


class JobStillRunning(AirflowHudiError):
    """The job could not be ended in time."""

    retryable = True

    def __init__(self, job: str, *, where: str) -> None:
        self.job = job
        self.where = where
        super().__init__(
            f"{job} was asked to stop and is still there ({where}); it will stop at its next"
            " heartbeat, and no second driver is started before"
        )


class OutcomeContradicted(AirflowHudiError):
    """The report and the table's timeline say different things; the timeline is the truth."""

    def __init__(self, job: str, *, said: str, seen: str) -> None:
        self.job = job
        self.said = said
        self.seen = seen
        super().__init__(
            f"{job} reported {said}, but the table's timeline shows {seen}; look at the table"
            " before anything is run again"
        )
