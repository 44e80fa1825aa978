# SPDX-License-Identifier: Apache-2.0
"""A write in two steps: its data files under a pending instant now, its commit later.

No lock is held in between, so several tables can be staged at leisure and committed together. The
client that staged a write keeps its conflict window and its heartbeat. When it is gone, another
process can still commit from the facts in :class:`Staged`; Hudi then searches for no conflict with
what was committed meanwhile, so whoever recovers must have looked.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.commits import SCHEMA
from airflow_hudi.core.config import LockKey, WriteKey
from airflow_hudi.core.engine_errors import RecordsRejected
from airflow_hudi.spark.engine.before_commit import BeforeCommitHook, listen
from airflow_hudi.spark.engine.dialects import CommitArguments, Hudi015
from airflow_hudi.spark.engine.failures import translated
from airflow_hudi.spark.engine.incoming import Incoming
from airflow_hudi.spark.engine.jvm import items
from airflow_hudi.spark.engine.protocol import BeforeCommit, CommitInProgress, Options, Staged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_REPLACE = "replacecommit"
# Metadata written together with the data would be tied to the process that wrote the data.
_STAGING = {WriteKey.STREAMING_METADATA.value: "false"}
_RECOVERY = {
    **_STAGING,
    # Without the dead client's window Hudi would compare with the whole timeline, itself included.
    LockKey.CONCURRENCY_MODE.value: "single_writer",
    LockKey.FAILED_WRITES_POLICY.value: "EAGER",
    LockKey.AUTO_ADJUST.value: "false",  # or a single writer loses its lock provider
    WriteKey.TABLE_SERVICES.value: "false",
}


@dataclass(frozen=True, slots=True)
class _OpenWrite:
    """A staged write together with a client that can commit it."""

    client: Any
    arguments: CommitArguments

    @property
    def instant(self) -> str:
        return self.arguments.instant


class Staging:
    """The staged writes of one table client."""

    def __init__(self, dialect: Hudi015, base: str, options: Options) -> None:
        self._dialect = dialect
        self._jvm = dialect.jvm
        self._base = base
        self._options = options
        self._open: dict[str, _OpenWrite] = {}

    def stage(self, frame: DataFrame, operation: str, extra: Mapping[str, str]) -> Staged:
        """Write data files under a new pending instant, with a heartbeat."""
        options = {**self._options, **_STAGING}
        incoming = Incoming(self._dialect, self._base, options, frame, operation)
        client = incoming.open_client()
        with translated(self._base), _closed_on_error(client):
            instant = incoming.start(client)
            with _silent_on_error(client, instant):
                statuses, replaced = incoming.write(client, instant)
                written = self._checked(statuses.collect(), instant)
        stats = self._jvm.list(status.getStat() for status in written)
        told = self._jvm.option(self._jvm.map(extra))
        metadata = self._jvm.hudi.common.util.CommitUtils.buildMetadata(
            *(stats, replaced, told, incoming.kind),
            *(client.getConfig().getWriteSchema(), incoming.action),
        )
        arguments = CommitArguments(instant, written, stats, told, incoming.action, replaced)
        self._open[instant] = _OpenWrite(client, arguments)
        return Staged(instant, incoming.action, operation, str(metadata.toJsonString()))

    def commit(
        self,
        staged: Staged,
        *,
        check_pending: Callable[[str], None],
        before_commit: BeforeCommit | None,
    ) -> None:
        """Commit by the client that staged it, or by one made from what is known of it.

        A commit that failed, for lack of the lock say, can be tried again: the client is kept.
        """
        check_pending(staged.instant)
        write = self._open.get(staged.instant) or self._recovered(staged)
        self._open[staged.instant] = write

        def checked(commit: CommitInProgress) -> None:
            check_pending(staged.instant)  # again under the lock: nobody can take it away any more
            if before_commit is not None:
                before_commit(commit)

        write.client.getHeartbeatClient().start(staged.instant)  # if a failed commit stopped it
        hook = BeforeCommitHook(checked)
        listen(self._jvm)
        with translated(self._base), hook.own_errors():
            self._dialect.commit_stats(write.client, write.arguments, self._jvm.option(hook))
        self.abandon(staged.instant)

    def abandon(self, instant: str) -> None:
        """Let go of a write; its heartbeat stops."""
        write = self._open.pop(instant, None)
        if write is not None:
            write.client.getHeartbeatClient().stop(instant)
            write.client.close()

    def close(self) -> None:
        """Close all clients; what is not committed stays pending, and its heartbeat ages."""
        while self._open:
            self._open.popitem()[1].client.close()

    def _checked(self, statuses: Any, instant: str) -> list[Any]:
        written = items(statuses)
        if any(status.hasErrors() for status in written):
            raise RecordsRejected(self._base, instant)
        return written

    def _recovered(self, staged: Staged) -> _OpenWrite:
        models = self._jvm.hudi.common.model
        made = models.HoodieReplaceCommitMetadata if staged.action == _REPLACE else None
        kind = (made or models.HoodieCommitMetadata)().getClass()
        metadata = models.HoodieCommitMetadata.fromJsonString(staged.metadata, kind)
        arguments = CommitArguments(
            staged.instant,
            (),
            metadata.getWriteStats(),
            self._jvm.option(metadata.getExtraMetadata()),
            staged.action,
            metadata.getPartitionToReplaceFileIds() if made else self._jvm.map({}),
        )
        schema = json.loads(staged.metadata)["extraMetadata"][SCHEMA]
        client = self._dialect.open_client(self._base, {**self._options, **_RECOVERY}, schema)
        client.setOperationType(models.WriteOperationType.fromValue(staged.operation))
        return _OpenWrite(client, arguments)


@contextlib.contextmanager
def _closed_on_error(client: Any) -> Iterator[None]:
    try:
        yield
    except BaseException:
        client.close()
        raise


@contextlib.contextmanager
def _silent_on_error(client: Any, instant: str) -> Iterator[None]:
    """A write that failed proves no life, so that its instant can be rolled back at once."""
    try:
        yield
    except BaseException:
        client.getHeartbeatClient().stop(instant)
        raise
