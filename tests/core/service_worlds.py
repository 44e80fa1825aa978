# SPDX-License-Identifier: Apache-2.0
"""Two executors and a cleaner on one plan: every world they can bring about, step by step.

The table is a small model (what its timeline, its folders, its heartbeat file and its lock say);
what is decided about it, and everything about claims, is the real code on a storage in memory. Its
answers are remembered, for the same question is asked in many worlds.

A step has one effect. A crash may come between any two of them, and time may jump: far enough for
heartbeats to expire, for claims to be taken over, or for the rollback delay to have passed. Whoever
is stopped meanwhile has not beaten, and goes on afterwards as if nothing had happened.

Taken for granted: a lock is not lost by a living holder, and a dead one's is given back in time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from airflow_hudi.core.services.guard import Done, MayExecute, Refuse
from tests.core.service_reality import (
    COMPLETED,
    GONE,
    INFLIGHT,
    REQUESTED,
    ClaimState,
    Real,
    Rules,
    Seen,
)

DEAD, ENDED = "dead", "ended"
ENDS = (DEAD, ENDED)
BEATING = ("undo", "delete undone", "start", "write", "check", "commit", "stop")
"""Where an executor stands between the start and the end of its heartbeat."""
HOLDING = ("guard", "begin", *BEATING, "release", "plan rollback", "delete", "finish")
"""Where it holds a claim, or believes to."""
EARLIER, RESCUER = 0, 3
"""An attempt that was dead from the beginning, and the one that comes when all others are."""

BEGINNING = ("begin", "undo", "delete undone", "start")
"""From our guard to the end of Hudi's first steps, where it looks at the timeline itself."""

LEVELS = (1, 2, 3)
"""Jumps of time: heartbeats expire; claims may be taken over, too; the delay has passed, too."""


class Executor(NamedTuple):
    """``at`` is what it does next, or how it ended."""

    at: str = "look"
    looked: ClaimState | None = None
    """The claim as it has seen it, between looking and taking."""
    listed: frozenset[int] = frozenset()
    """Whose files it has found and is about to delete."""
    slept: bool = False
    """It was stopped for so long that it may have been taken for dead."""
    hit: bool = False
    """Somebody who had slept undid its attempt after waking up."""


class World(NamedTuple):
    plan: str = REQUESTED
    files: frozenset[int] = frozenset()
    """Whose data files are there."""
    named: int | None = None
    """Whose files the completed instant names."""
    beat: int | None = None
    """How old the heartbeat file is, if there is one."""
    claim: ClaimState | None = None
    rollback: frozenset[int] | None = None
    """Whose files the pending rollback plan lists."""
    is_old: bool = False
    """Whether the plan is older than the rollback delay."""
    lock: int | None = None
    executors: tuple[Executor, ...] = (Executor(), Executor())
    cleaner: str = "look"


CLEANER = 9


class Steps:
    """One step in a world makes another one; what must not happen in it is an AssertionError."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.real = Real(rules)

    def of_executor(self, world: World, me: int) -> World:
        step = getattr(self, f"_{_of(world, me).at.replace(' ', '_')}")
        after: World = step(world, me)
        return after

    # --- the claim -----------------------------------------------------------------------------

    def is_gone(self, world: World) -> bool:
        """Whether the host says that whoever has the claim is gone."""
        if world.claim is None or not self.rules.hosts_answer:
            return False
        owner = world.claim.owner
        return owner == EARLIER or _of(world, owner).at in ENDS

    def _look(self, world: World, me: int) -> World:
        if not self.real.look(world.claim, me, is_gone=self.is_gone(world)):
            return world
        return _now(world, me, "take", looked=world.claim)

    def _take(self, world: World, me: int) -> World:
        taken = self.real.take(_of(world, me).looked, world.claim, me)
        if taken is None:
            return _now(world, me, "look", looked=None)
        return _now(world, me, "guard", looked=None)._replace(claim=taken)

    def _release(self, world: World, me: int) -> World:
        return _now(world, me, ENDED)._replace(claim=self.real.release(world.claim, me))

    # --- under the table's lock ----------------------------------------------------------------

    def _guard(self, world: World, me: int) -> World:
        if self._is_locked(world):
            return world
        if self.rules.guard_renews:
            world = world._replace(claim=self.real.renew(world.claim, me))
            if not self.real.holds(world.claim, me):
                return _now(world, me, "release")
        verdict = self.real.guard(_seen(world))
        if isinstance(verdict, MayExecute):
            return _now(world, me, "begin")._replace(lock=me)
        if isinstance(verdict, Refuse) and verdict.must_be_rolled_back:
            return _now(world, me, "plan rollback")
        assert isinstance(verdict, (Done, Refuse))
        return _now(world, me, "release")

    def _begin(self, world: World, me: int) -> World:
        return _now(world, me, "undo")._replace(lock=None, beat=0)

    def _check(self, world: World, me: int) -> World:
        if self._is_locked(world):
            return world
        asked = {
            "claim": self.real.holds(world.claim, me),
            "inflight": world.plan == INFLIGHT,
            "rollback": world.rollback is None,
            "files": me in world.files,
        }
        if all(holds for name, holds in asked.items() if name in self.rules.checks):
            return _now(world, me, "commit")._replace(lock=me)
        self._assert_lost_rightly(world, me)
        return _now(world, me, "stop")

    def _commit(self, world: World, me: int) -> World:
        assert world.plan != COMPLETED, "a plan is committed twice"
        if world.plan != INFLIGHT:  # Hudi looks for the inflight file, and refuses
            self._assert_lost_rightly(world, me)
            return _now(world, me, "stop")._replace(lock=None)
        return _now(world, me, "stop")._replace(lock=None, plan=COMPLETED, named=me)

    def _is_locked(self, world: World) -> bool:
        return self.rules.has_lock and world.lock is not None

    def _assert_lost_rightly(self, world: World, me: int) -> None:
        executor = _of(world, me)
        assert executor.slept or executor.hit, "an executor that lives and beats lost its plan"

    # --- the execution -------------------------------------------------------------------------

    def _undo(self, world: World, me: int) -> World:
        """Hudi rolls back what it finds inflight; what is not pending it does not execute."""
        if world.plan in (COMPLETED, GONE):
            self._assert_lost_rightly(world, me)
            return _now(world, me, "stop")
        if world.plan == REQUESTED:
            return _now(world, me, "start")
        listed = _now(world, me, "delete undone", listed=world.files)
        return self._delete_undone(listed, me) if self.rules.undo == "at once" else listed

    def _delete_undone(self, world: World, me: int) -> World:
        mine = _of(world, me)
        plan = REQUESTED if world.plan == INFLIGHT else world.plan
        world = world._replace(files=world.files - mine.listed, plan=plan, rollback=None)
        for other in _numbers(world):
            is_victim = other != me and _of(world, other).at in BEATING
            if is_victim and mine.slept:
                world = _now(world, other, _of(world, other).at, hit=True)
        return _now(world, me, "start", listed=frozenset())

    def _start(self, world: World, me: int) -> World:
        if world.plan in (COMPLETED, GONE):
            self._assert_lost_rightly(world, me)
            return _now(world, me, "stop")
        return _now(world, me, "write")._replace(plan=INFLIGHT)

    def _write(self, world: World, me: int) -> World:
        return _now(world, me, "check")._replace(files=world.files | {me})

    def _stop(self, world: World, me: int) -> World:
        return _now(world, me, "release", slept=False, hit=False)._replace(beat=None)

    # --- rollbacks, of an executor that plans anew and of the cleaner ---------------------------

    def _plan_rollback(self, world: World, me: int) -> World:
        if self._is_locked(world):
            return world
        is_ours = self.real.holds(world.claim, me) or not self.rules.guard_renews
        if world.plan not in (REQUESTED, INFLIGHT) or not is_ours:
            return _now(world, me, "release")
        listed = world.files if world.rollback is None else world.rollback
        return _now(world, me, "delete", listed=listed)._replace(rollback=listed)

    def _delete(self, world: World, me: int) -> World:
        return _now(world, me, "finish")._replace(files=world.files - _of(world, me).listed)

    def _finish(self, world: World, me: int) -> World:
        return _now(world, me, "release", listed=frozenset(), slept=False)._replace(
            plan=GONE, rollback=None, beat=None
        )

    def of_cleaner(self, world: World) -> World:
        if world.cleaner == "look":
            if self._is_locked(world):
                return world
            claimed = self.real.is_claimed(world.claim, is_gone=self.is_gone(world))
            if not self.rules.is_removable:  # it decides the same whatever comes between
                return self._decide(world, is_claimed=claimed)
            then = "decide, claimed" if claimed else "decide"
            return world._replace(cleaner=then, lock=CLEANER)
        if world.cleaner.startswith("decide"):
            return self._decide(world, is_claimed=world.cleaner.endswith("claimed"))
        if world.cleaner == "delete":
            files = world.files - (world.rollback or frozenset())
            return world._replace(cleaner="finish", files=files)
        return world._replace(cleaner="look", plan=GONE, rollback=None, beat=None)

    def _decide(self, world: World, *, is_claimed: bool) -> World:
        world = world._replace(lock=None, cleaner="look") if world.lock == CLEANER else world
        schedules, carries_out = self.real.decide(_seen(world), is_claimed=is_claimed)
        if schedules:
            assert self.rules.is_removable, "a plan that stays is rolled back"
            assert world.is_old, "a fresh plan is rolled back"
            world = world._replace(rollback=world.files)
        return world._replace(cleaner="delete") if schedules or carries_out else world


def _of(world: World, number: int) -> Executor:
    return world.executors[number - 1]


def _seen(world: World) -> Seen:
    return Seen(world.plan, world.beat, world.rollback is not None, world.is_old)


def _numbers(world: World) -> range:
    return range(1, len(world.executors) + 1)


def _now(world: World, me: int, at: str, **changes: object) -> World:
    executors = list(world.executors)
    executors[me - 1] = executors[me - 1]._replace(at=at, **changes)  # type: ignore[arg-type]
    return world._replace(executors=tuple(executors))


def jump(world: World, level: int, stopped: tuple[int, ...], real: Real) -> World:
    """Time passes; whoever lives and is not stopped has beaten and renewed its claim."""
    claim, beat = world.claim, world.beat
    if claim is not None:
        claim = claim._replace(age=max(claim.age, min(level, 2)))
    beat = None if beat is None else 1
    executors = list(world.executors)
    for number in _numbers(world):
        executor = _of(world, number)
        if number in stopped:
            executors[number - 1] = executor._replace(slept=executor.slept or level > 1)
            continue
        if executor.at in HOLDING:
            claim = real.renew(claim, number)
        if executor.at in BEATING:
            beat = 0
    is_left = world.lock is not None and world.lock != CLEANER and _of(world, world.lock).at == DEAD
    is_left = is_left or (world.lock == CLEANER and world.cleaner == DEAD)
    return world._replace(
        claim=claim,
        beat=beat,
        lock=None if is_left else world.lock,
        is_old=world.is_old or level == LEVELS[-1],
        executors=tuple(executors),
    )


def next_worlds(world: World, steps: Steps) -> Iterator[World]:
    """All that may come next: a step, a crash, or time."""
    for number in _numbers(world):
        if _of(world, number).at not in ENDS:
            yield steps.of_executor(world, number)
            yield _crashed(world, number)
    if world.cleaner != DEAD:
        yield steps.of_cleaner(world)
        if world.cleaner != "look":  # or it does not come, which is among the orders anyway
            yield world._replace(cleaner=DEAD)
    holding = [n for n in _numbers(world) if _of(world, n).at in HOLDING]
    subsets = [s for size in range(len(holding) + 1) for s in itertools.combinations(holding, size)]
    levels = LEVELS if steps.rules.is_removable and not world.is_old else LEVELS[:2]
    for level, stopped in itertools.product(levels, subsets):
        if level == 1 or steps.rules.naps or not _begins(world, stopped):
            yield jump(world, level, stopped, steps.real)


def _begins(world: World, numbers: tuple[int, ...]) -> bool:
    return any(_of(world, number).at in BEGINNING for number in numbers)


def _crashed(world: World, number: int) -> World:
    executors = list(world.executors)
    executors[number - 1] = Executor(DEAD)
    return world._replace(executors=tuple(executors))


def check_step(before: World, after: World) -> None:
    assert after.named is None or after.named in after.files, "a completed instant misses a file"
    assert before.plan != COMPLETED or after.plan == COMPLETED, "a completed instant disappeared"


def canonical(world: World) -> World:
    """The same world by its plainest name: executors are alike, and how often a claim was renewed
    does not matter, only whether it was since it was looked at."""
    one, two = world.executors[:2]
    if _key(two) < _key(one):
        world = _swapped(world)
    seen = [c for c in (world.claim, *(e.looked for e in world.executors)) if c is not None]
    if all(claim.number == 1 for claim in seen):
        return world
    ranks: dict[tuple[int, int], int] = {}
    for _, group in itertools.groupby(sorted({c[:2] for c in seen}), key=lambda c: c[0]):
        ranks.update({key: rank for rank, key in enumerate(group, 1)})

    def ranked(claim: ClaimState | None) -> ClaimState | None:
        return claim and claim._replace(number=ranks[claim[:2]])

    executors = tuple(e._replace(looked=ranked(e.looked)) for e in world.executors)
    return world._replace(claim=ranked(world.claim), executors=executors)


def _key(executor: Executor) -> tuple[object, ...]:
    return (executor.at, executor.slept, executor.hit, executor.looked or ())


_SWAP = {1: 2, 2: 1}


def _swapped(world: World) -> World:
    def claim(state: ClaimState | None) -> ClaimState | None:
        return state and state._replace(owner=_SWAP.get(state.owner, state.owner))

    def numbers(of: frozenset[int]) -> frozenset[int]:
        return frozenset(_SWAP.get(number, number) for number in of)

    return world._replace(
        files=numbers(world.files),
        named=_SWAP.get(world.named or 0, world.named),
        claim=claim(world.claim),
        rollback=None if world.rollback is None else numbers(world.rollback),
        lock=_SWAP.get(world.lock or 0, world.lock),
        executors=tuple(
            e._replace(looked=claim(e.looked), listed=numbers(e.listed))
            for e in reversed(world.executors)
        ),
    )


def all_worlds(first: World, steps: Steps) -> set[World]:
    """Every world that can come to be; each step that leads to one has been checked."""
    seen, waiting = {first}, [first]
    while waiting:
        world = waiting.pop()
        for then in next_worlds(world, steps):
            check_step(world, then)
            after = canonical(then)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return seen
