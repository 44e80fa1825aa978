# SPDX-License-Identifier: Apache-2.0
"""The code under test, asked about states of a plan and its claim; answers are remembered.

Claims are files on a storage in memory, the timeline is a table in memory, time is a fake clock:
between two questions nothing is kept, so the same question has the same answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from airflow_hudi.core import claims
from airflow_hudi.core.heartbeat import HeartbeatPolicy
from airflow_hudi.core.hosts import Process
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.services.guard import Verdict, guard
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.services.policies import RollbackPolicy
from airflow_hudi.core.services.rollback import decide_rollbacks
from airflow_hudi.core.services.view import ServicesView, load_view
from airflow_hudi.core.storage.base import Content, Version
from airflow_hudi.core.storage.memory import InMemoryStorage
from airflow_hudi.testing import FakeClock
from tests.builders import EPOCH, a_table, at
from tests.core.service_builders import a_rollback_plan

REQUESTED, INFLIGHT, COMPLETED, GONE = "requested", "inflight", "completed", "gone"

_MINUTES = {0: 0, 1: 3, 2: 8}
"""How long ago, by age: fresh, a heartbeat has expired, a claim may be taken over."""
_URI = "/lake/orders"
_PLAN, _ROLLBACK = at(0), at(300)


class ClaimState(NamedTuple):
    owner: int
    number: int = 1
    age: int = 0


class Seen(NamedTuple):
    """What the timeline and the heartbeats say of a plan."""

    plan: str
    beat: int | None
    is_undone: bool
    """Whether a rollback of it is planned."""
    is_old: bool


@dataclass(frozen=True)
class Rules:
    """What kind of plan it is, and what may happen to it."""

    service: Service
    hosts_answer: bool = True
    """Whether a crash is known of at once; else only by the silence."""
    delay: timedelta = timedelta(minutes=60)
    undo: str = "later"
    """When Hudi deletes what it has found of an earlier attempt: "at once", or "later"."""
    checks: frozenset[str] = frozenset({"claim", "inflight", "rollback", "files"})
    has_lock: bool = True
    guard_renews: bool = True
    """Whether the guard begins with a renewal of the claim, and so finds out that it is lost."""
    naps: bool = False
    """Whether an executor may sleep through a takeover between the guard and Hudi's first steps."""

    @property
    def is_removable(self) -> bool:
        return self.policy.is_removable(self.service)

    @property
    def policy(self) -> RollbackPolicy:
        return RollbackPolicy(self.delay)


class LookAgain(Exception):
    """A conditional write was too late."""


class WouldWrite(Exception):
    """The claim would be written now."""


class _Looking(InMemoryStorage):
    """Stops right before the write."""

    def create(self, path: str, data: bytes) -> Version:
        raise WouldWrite

    def replace(self, path: str, data: bytes, *, expected: Version) -> Version:
        raise WouldWrite


class _Late(InMemoryStorage):
    """Says once what was seen a while ago."""

    seen: list[Content | None]

    def read_versioned(self, path: str) -> Content:
        if not self.seen:
            raise LookAgain
        content = self.seen.pop()
        return super().read_versioned("missing") if content is None else content


def _executor(number: int) -> claims.Executor:
    return claims.Executor("job", "jobs/job", number, "here", (Process(number, 1),))


def _put(storage: InMemoryStorage, clock: FakeClock, state: ClaimState | None) -> claims.ClaimFile:
    file = claims.ClaimFile(storage, _URI, _PLAN)
    if state is not None:
        then = clock() - timedelta(minutes=_MINUTES[state.age])
        claim = claims.Claim(_executor(state.owner), state.number)
        storage.put(file.path, claims._data(claim), modified_at=then)
    return file


def _state(file: claims.ClaimFile, clock: FakeClock) -> ClaimState | None:
    claim = file.load()
    if claim is None:
        return None
    assert claim.renewed_at is not None
    minutes = (clock() - claim.renewed_at) / timedelta(minutes=1)
    age = next(level for level, value in _MINUTES.items() if value == minutes)
    return ClaimState(claim.executor.attempt, claim.number, age)


class Real:
    """The code under test, asked about states; each answer is remembered."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.look = functools.cache(self._look)
        self.take = functools.cache(self._take)
        self.renew = functools.cache(self._renew)
        self.holds = functools.cache(self._holds)
        self.release = functools.cache(self._release)
        self.is_claimed = functools.cache(self._is_claimed)
        self.guard = functools.cache(self._guard)
        self.decide = functools.cache(self._decide)
        self._view = functools.cache(self._load_view)

    def _judge(
        self, clock: FakeClock, *, is_gone: bool
    ) -> Callable[[claims.Claim], claims.Standing]:
        lives = False if is_gone else None
        policy = claims.TakeoverPolicy()
        return lambda claim: claims.judge_claim(claim, lives=lives, now=clock(), policy=policy)

    def _look(self, state: ClaimState | None, me: int, *, is_gone: bool) -> bool:
        """Whether it would try to take the claim."""
        clock = FakeClock()
        storage = _Looking(clock=clock)
        try:
            _put(storage, clock, state).take(_executor(me), self._judge(clock, is_gone=is_gone))
        except claims.PlanClaimed:
            return False
        except WouldWrite:
            return True
        return True  # our own

    def _take(
        self, looked: ClaimState | None, state: ClaimState | None, me: int
    ) -> ClaimState | None:
        """The claim after it was taken, by what was seen before; None: somebody was faster."""
        clock = FakeClock()
        before = InMemoryStorage(clock=clock)
        seen = _put(before, clock, looked)._content()
        storage = _Late(clock=clock)
        storage.seen = [seen]
        file = _put(storage, clock, state)
        try:
            file.take(_executor(me), lambda _: claims.Free("it was judged so"))
        except LookAgain:
            return None
        storage.seen = [InMemoryStorage.read_versioned(storage, file.path)]
        return _state(file, clock)

    def _held(self, state: ClaimState | None, me: int) -> tuple[claims.HeldClaim, FakeClock]:
        clock = FakeClock()
        file = _put(InMemoryStorage(clock=clock), clock, state)
        content = file._content()
        is_ours = state is not None and state.owner == me and content is not None
        number = state.number if is_ours and state is not None else 1
        version = content.version if is_ours and content is not None else Version("an old one")
        return claims.HeldClaim(file, claims.Claim(_executor(me), number), version), clock

    def _renew(self, state: ClaimState | None, me: int) -> ClaimState | None:
        held, clock = self._held(state, me)
        try:
            held.renew()
        except claims.ClaimLost:
            assert state is None or state.owner != me
        return _state(held._file, clock)

    def _holds(self, state: ClaimState | None, me: int) -> bool:
        try:
            self._held(state, me)[0].check()
        except claims.ClaimLost:
            return False
        return True

    def _release(self, state: ClaimState | None, me: int) -> ClaimState | None:
        held, clock = self._held(state, me)
        held.release()
        return _state(held._file, clock)

    def _is_claimed(self, state: ClaimState | None, *, is_gone: bool) -> bool:
        """What the cleaner is told about the plan's claim."""
        clock = FakeClock()
        file = _put(InMemoryStorage(clock=clock), clock, state)
        there = claims.load_claims(file.storage, _URI).values()
        return any(isinstance(self._judge(clock, is_gone=is_gone)(c), claims.Held) for c in there)

    # --- the timeline --------------------------------------------------------------------------

    def _load_view(self, seen: Seen) -> ServicesView:
        action = self._rules.service.action
        names = [f"{_PLAN}.{action.value}.requested"] if seen.plan != GONE else []
        if seen.plan in (INFLIGHT, COMPLETED):
            names.append(f"{_PLAN}.{action.value}.inflight")
        if seen.plan == COMPLETED:
            names.append(f"{_PLAN}_{_PLAN}.{action.completes_as.value}")
        files = dict.fromkeys(names, b"x")
        if seen.is_undone:
            files[f"{_ROLLBACK}.rollback.requested"] = a_rollback_plan(_PLAN, action.value)
        table = a_table(files)
        now = EPOCH + timedelta(minutes=61 if seen.is_old else 10)
        if seen.beat is not None:
            last = now - timedelta(minutes=_MINUTES[seen.beat])
            assert isinstance(table.storage, InMemoryStorage)
            table.storage.put(f".hoodie/.heartbeat/{_PLAN}", b"", modified_at=last)
        return load_view(table, HeartbeatPolicy(), now=now)

    def _guard(self, seen: Seen) -> Verdict:
        return guard(self._view(seen), self._rules.service, _PLAN, self._rules.policy)

    def _decide(self, seen: Seen, *, is_claimed: bool) -> tuple[bool, bool]:
        """Whether a rollback is to be planned, and whether one is to be carried out."""
        claimed: set[InstantTime] = {_PLAN} if is_claimed else set()
        decision = decide_rollbacks(self._view(seen), self._rules.policy, claimed=claimed)
        return bool(decision.schedule), bool(decision.carry_out)
