# SPDX-License-Identifier: Apache-2.0
"""RFC-79 as two tables: what an executor is told about a plan, and what a clean rolls back.

Data only, in words: the tests of the decisions build timelines from them, tests on real Spark may
build tables. ``step`` is the RFC's own number, "beyond" where its text is silent and ours is not.
"""

from __future__ import annotations

from dataclasses import dataclass

MISSING, EXPIRED, LIVE = "missing", "expired", "live"
"""The heartbeat on an instant."""
REQUESTED, INFLIGHT, COMPLETED, GONE = "requested", "inflight", "completed", "gone"
NONE, PENDING, UNREADABLE, EARLIER = "none", "pending", "unreadable", "unreadable, but earlier"
"""The rollback of it."""


@dataclass(frozen=True)
class Guarded:
    """A plan that somebody wants to execute, and what the guard says."""

    step: str
    service: str
    plan: str
    says: str
    because: str
    heartbeat: str = MISSING
    rollback: str = NONE
    clustering_is_removable: bool = True
    is_claimed: bool = False
    """By another executor of ours that is not proved dead."""
    is_another: bool = False
    """The instant is not of this service at all."""

    def __str__(self) -> str:
        kept = "" if self.clustering_is_removable else " kept"
        return f"step {self.step}, {self.service}{kept} {self.plan}: {self.because}"


EXECUTE, UNDO_FIRST, ATTACH, DONE = "execute", "undo, then execute", "attach", "done"
ALIVE, BEGUN, BEING_UNDONE = "refuse: alive", "refuse: begun", "refuse: being undone"
MAYBE, IS_GONE, NO_PLAN = "refuse: maybe being undone", "refuse: gone", "refuse: no plan"

COMPACTION, LOGS, CLUSTERING = "compaction", "logcompaction", "clustering"

GUARD = (
    Guarded("3", COMPACTION, REQUESTED, ALIVE, "somebody has just taken it", LIVE),
    Guarded("3", COMPACTION, INFLIGHT, ALIVE, "somebody is at it", LIVE),
    Guarded("3", LOGS, REQUESTED, ALIVE, "somebody has just taken it", LIVE),
    Guarded("3", LOGS, INFLIGHT, ALIVE, "somebody is at it; that comes before step 4", LIVE),
    Guarded("3", CLUSTERING, REQUESTED, ALIVE, "somebody has just taken it", LIVE),
    Guarded("3", CLUSTERING, INFLIGHT, ALIVE, "somebody is at it; before step 4, too", LIVE),
    Guarded(
        "3", CLUSTERING, INFLIGHT, ALIVE, "somebody is at it", LIVE, clustering_is_removable=False
    ),
    Guarded("3", CLUSTERING, REQUESTED, ALIVE, "its rollback is not ours to see", LIVE, PENDING),
    Guarded("4a", LOGS, INFLIGHT, BEGUN, "it cannot be executed again"),
    Guarded("4a", LOGS, INFLIGHT, BEGUN, "its executor died", EXPIRED),
    Guarded("4a", CLUSTERING, INFLIGHT, BEGUN, "it cannot be executed again"),
    Guarded("4a", CLUSTERING, INFLIGHT, BEGUN, "its executor died", EXPIRED),
    Guarded("4a", CLUSTERING, INFLIGHT, BEGUN, "begun and being undone", EXPIRED, PENDING),
    Guarded("4b", LOGS, REQUESTED, BEING_UNDONE, "a rollback will remove it", MISSING, PENDING),
    Guarded(
        "4b", CLUSTERING, REQUESTED, BEING_UNDONE, "a rollback will remove it", rollback=PENDING
    ),
    Guarded("4b", CLUSTERING, REQUESTED, BEING_UNDONE, "the dead do not help", EXPIRED, PENDING),
    Guarded(
        "4b", CLUSTERING, REQUESTED, MAYBE, "a damaged rollback may be its", MISSING, UNREADABLE
    ),
    Guarded("4b", LOGS, REQUESTED, MAYBE, "a damaged rollback may be its", MISSING, UNREADABLE),
    Guarded(
        "4b", CLUSTERING, REQUESTED, EXECUTE, "an earlier rollback is not its", MISSING, EARLIER
    ),
    Guarded("5", COMPACTION, REQUESTED, EXECUTE, "nobody is at it"),
    Guarded("5", COMPACTION, REQUESTED, EXECUTE, "an old heartbeat starts anew", EXPIRED),
    Guarded("5", LOGS, REQUESTED, EXECUTE, "nobody is at it"),
    Guarded("5", LOGS, REQUESTED, EXECUTE, "it was taken and not begun", EXPIRED),
    Guarded("5", CLUSTERING, REQUESTED, EXECUTE, "nobody is at it"),
    Guarded("5", CLUSTERING, REQUESTED, EXECUTE, "it was taken and not begun", EXPIRED),
    Guarded("5", CLUSTERING, REQUESTED, EXECUTE, "nobody is at it", clustering_is_removable=False),
    Guarded("7", COMPACTION, INFLIGHT, UNDO_FIRST, "an attempt left it"),
    Guarded("7", COMPACTION, INFLIGHT, UNDO_FIRST, "its executor died", EXPIRED),
    Guarded("7", COMPACTION, REQUESTED, UNDO_FIRST, "a rollback of it waits", MISSING, PENDING),
    Guarded("7", COMPACTION, INFLIGHT, UNDO_FIRST, "a rollback of it waits", EXPIRED, PENDING),
    Guarded("7", COMPACTION, INFLIGHT, UNDO_FIRST, "Hudi makes a new one", EXPIRED, UNREADABLE),
    Guarded(
        "7",
        CLUSTERING,
        INFLIGHT,
        UNDO_FIRST,
        "its executor died",
        EXPIRED,
        clustering_is_removable=False,
    ),
    Guarded(
        "7",
        CLUSTERING,
        REQUESTED,
        UNDO_FIRST,
        "a rollback waits",
        MISSING,
        PENDING,
        clustering_is_removable=False,
    ),
    Guarded("beyond", COMPACTION, COMPLETED, DONE, "somebody has done it"),
    Guarded("beyond", COMPACTION, COMPLETED, DONE, "done, its heartbeat not yet removed", LIVE),
    Guarded("beyond", LOGS, COMPLETED, DONE, "somebody has done it"),
    Guarded("beyond", CLUSTERING, COMPLETED, DONE, "somebody has done it"),
    Guarded("beyond", CLUSTERING, COMPLETED, DONE, "done, its claim is left", is_claimed=True),
    Guarded("beyond", COMPACTION, GONE, IS_GONE, "archived, or never there"),
    Guarded("beyond", CLUSTERING, GONE, IS_GONE, "it was rolled back"),
    Guarded("beyond", CLUSTERING, GONE, IS_GONE, "gone, its claim is left", is_claimed=True),
    Guarded("beyond", COMPACTION, REQUESTED, NO_PLAN, "it is a write's", is_another=True),
    Guarded("beyond", CLUSTERING, INFLIGHT, NO_PLAN, "it is a write's", LIVE, is_another=True),
    Guarded("beyond", COMPACTION, REQUESTED, ATTACH, "one of ours has it", is_claimed=True),
    Guarded("beyond", COMPACTION, INFLIGHT, ATTACH, "one of ours is at it", LIVE, is_claimed=True),
    Guarded("beyond", LOGS, INFLIGHT, ATTACH, "between two beats", EXPIRED, is_claimed=True),
    Guarded("beyond", CLUSTERING, INFLIGHT, ATTACH, "one of ours", EXPIRED, is_claimed=True),
)


@dataclass(frozen=True)
class Pending:
    """A pending instant that a clean meets, and what becomes of it."""

    action: str
    state: str
    becomes: str
    because: str
    heartbeat: str = MISSING
    minutes: float = 600
    """How old it is."""
    delay: float = 60
    rollback: str = NONE
    carrier: str = MISSING
    """The heartbeat on that rollback."""
    clustering_is_removable: bool = True
    is_claimed: bool = False
    is_damaged: bool = False
    """Its plan cannot be read."""
    layout: int = 2
    zone: str = "UTC"
    instant: str | None = None
    """Instead of a time."""
    said: str = ""
    """What is said of one that is held."""
    until: float | None = None
    """In how many minutes it will be looked at anew."""

    def __str__(self) -> str:
        kept = "" if self.clustering_is_removable else " kept"
        return f"{self.action}{kept} {self.state} becomes {self.becomes}: {self.because}"


SCHEDULED, CARRIED_OUT, HELD, LEFT = "rolled back", "carried out", "held", "left alone"
COMMIT, DELTACOMMIT, REPLACECOMMIT = "commit", "deltacommit", "replacecommit"
_ALIVE, _STAYS = "its writer is alive", "its plan stays until it is executed"
_YOUNG, _CLAIMED = "younger than the rollback delay", "a job of ours has claimed it"
_UNREADABLE, _CARRYING = "its plan cannot be read", "somebody is carrying out this rollback"
_ALONE = "nobody knows what it is to undo"


def _alive(action: str, state: str, because: str) -> Pending:
    return Pending(action, state, HELD, because, LIVE, said=_ALIVE, until=1)


def _undone(
    action: str, state: str, because: str, *, minutes: float = 600, carrier: str = MISSING
) -> Pending:
    return Pending(
        action, state, CARRIED_OUT, because, minutes=minutes, rollback=PENDING, carrier=carrier
    )


ROLLBACKS = (
    Pending(COMMIT, INFLIGHT, SCHEDULED, "its writer is dead", EXPIRED),
    Pending(DELTACOMMIT, INFLIGHT, SCHEDULED, "its writer is dead", EXPIRED),
    Pending(REPLACECOMMIT, INFLIGHT, SCHEDULED, "an insert_overwrite is a write", EXPIRED),
    Pending(REPLACECOMMIT, INFLIGHT, SCHEDULED, "so it is on layout 1", EXPIRED, layout=1),
    Pending(DELTACOMMIT, REQUESTED, SCHEDULED, "it died before it began", EXPIRED),
    Pending(DELTACOMMIT, INFLIGHT, SCHEDULED, "a missing heartbeat is as good as an expired one"),
    Pending(DELTACOMMIT, INFLIGHT, SCHEDULED, "no delay protects a write", EXPIRED, minutes=4),
    _alive(COMMIT, INFLIGHT, "its writer beats"),
    _alive(DELTACOMMIT, REQUESTED, "its writer beats and has just begun"),
    Pending(
        DELTACOMMIT, INFLIGHT, HELD, "claims count, too", EXPIRED, is_claimed=True, said=_CLAIMED
    ),
    Pending(COMPACTION, REQUESTED, HELD, "later log files rest on it", said=_STAYS),
    Pending(COMPACTION, INFLIGHT, HELD, "its executor died; the next begins anew", said=_STAYS),
    Pending(COMPACTION, INFLIGHT, HELD, "even if somebody beats", LIVE, said=_STAYS),
    Pending(
        CLUSTERING,
        REQUESTED,
        HELD,
        "configured to stay",
        said=_STAYS,
        clustering_is_removable=False,
    ),
    Pending(
        CLUSTERING,
        INFLIGHT,
        HELD,
        "configured to stay",
        EXPIRED,
        said=_STAYS,
        clustering_is_removable=False,
    ),
    Pending(LOGS, REQUESTED, SCHEDULED, "never configured to stay", clustering_is_removable=False),
    Pending(CLUSTERING, REQUESTED, HELD, "too young", minutes=59, said=_YOUNG, until=1),
    Pending(LOGS, INFLIGHT, HELD, "begun, dead, and too young", EXPIRED, 30, said=_YOUNG, until=30),
    Pending(
        CLUSTERING,
        REQUESTED,
        HELD,
        "a day is asked for",
        minutes=600,
        delay=1440,
        said=_YOUNG,
        until=840,
    ),
    Pending(CLUSTERING, REQUESTED, SCHEDULED, "exactly the delay old", minutes=60),
    Pending(CLUSTERING, REQUESTED, SCHEDULED, "older than the delay", minutes=61),
    Pending(CLUSTERING, INFLIGHT, SCHEDULED, "older, and its executor is dead", EXPIRED),
    Pending(LOGS, REQUESTED, SCHEDULED, "older than the delay", minutes=61),
    Pending(LOGS, INFLIGHT, SCHEDULED, "older, and its executor is dead", EXPIRED),
    Pending(CLUSTERING, REQUESTED, SCHEDULED, "no delay is asked for", minutes=0, delay=0),
    _alive(CLUSTERING, INFLIGHT, "old, and somebody is at it"),
    _alive(LOGS, REQUESTED, "old, and somebody has just taken it"),
    Pending(
        CLUSTERING, INFLIGHT, HELD, "old, and claimed", EXPIRED, is_claimed=True, said=_CLAIMED
    ),
    Pending(
        CLUSTERING,
        REQUESTED,
        HELD,
        "young on layout 1",
        minutes=30,
        layout=1,
        said=_YOUNG,
        until=30,
    ),
    Pending(CLUSTERING, INFLIGHT, SCHEDULED, "old on layout 1", EXPIRED, layout=1),
    Pending(
        REPLACECOMMIT,
        INFLIGHT,
        HELD,
        "it might be a clustering",
        layout=1,
        is_damaged=True,
        said=_UNREADABLE,
    ),
    Pending(
        CLUSTERING,
        REQUESTED,
        HELD,
        "its instant is no time",
        instant="00000000000001",
        said="its age is not known",
    ),
    Pending(
        CLUSTERING,
        REQUESTED,
        HELD,
        "young by its own clock",
        minutes=30,
        zone="Asia/Tokyo",
        said=_YOUNG,
        until=30,
    ),
    Pending(
        CLUSTERING, REQUESTED, SCHEDULED, "old by its own clock", minutes=61, zone="Asia/Tokyo"
    ),
    Pending(CLUSTERING, REQUESTED, SCHEDULED, "old west of here", minutes=61, zone="America/Lima"),
    _undone(DELTACOMMIT, INFLIGHT, "its rollback is there already"),
    _undone(CLUSTERING, INFLIGHT, "its rollback is there already"),
    _undone(CLUSTERING, REQUESTED, "a planned rollback asks for no age", minutes=4),
    Pending(
        COMMIT,
        COMPLETED,
        HELD,
        "no completed instant disappears by a clean",
        rollback=PENDING,
        said="which is completed",
    ),
    Pending(
        CLUSTERING,
        INFLIGHT,
        HELD,
        "the target's writer lives",
        LIVE,
        rollback=PENDING,
        said="the writer of",
    ),
    Pending(
        CLUSTERING,
        INFLIGHT,
        HELD,
        "the target is claimed",
        EXPIRED,
        rollback=PENDING,
        is_claimed=True,
        said="the writer of",
    ),
    _undone(CLUSTERING, GONE, "a rollback that was cut short after its target had gone"),
    _undone(COMMIT, GONE, "a rollback that was cut short after its target had gone"),
    _undone(DELTACOMMIT, INFLIGHT, "who carried it out is dead", carrier=EXPIRED),
    Pending(
        DELTACOMMIT,
        INFLIGHT,
        HELD,
        "somebody is carrying it out",
        rollback=PENDING,
        carrier=LIVE,
        said=_CARRYING,
        until=1,
    ),
    Pending(COMPACTION, INFLIGHT, LEFT, "its next execution does that", rollback=PENDING),
    Pending(COMPACTION, REQUESTED, LEFT, "its next execution does that", rollback=PENDING),
    Pending(COMPACTION, GONE, LEFT, "it would delete what others wrote", rollback=PENDING),
    Pending(
        CLUSTERING,
        INFLIGHT,
        LEFT,
        "its next execution",
        rollback=PENDING,
        clustering_is_removable=False,
    ),
    Pending("none", GONE, HELD, "a damaged rollback", rollback=UNREADABLE, said=_ALONE),
    Pending("clean", REQUESTED, LEFT, "no failed write"),
    Pending("clean", INFLIGHT, LEFT, "no failed write"),
    Pending("restore", INFLIGHT, LEFT, "no failed write"),
    Pending("savepoint", INFLIGHT, LEFT, "no failed write"),
    Pending("indexing", REQUESTED, LEFT, "no failed write"),
    Pending(COMMIT, COMPLETED, LEFT, "it is done"),
    Pending(CLUSTERING, COMPLETED, LEFT, "it is done"),
)
