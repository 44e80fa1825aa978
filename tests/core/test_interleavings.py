# SPDX-License-Identifier: Apache-2.0
"""Two tasks and their drivers, in every order of their steps and with a crash after every step.

The steps are those of ``hooks/runs.py`` and ``spark/runner.py``, each with one write at the most,
on the real control folder. All states that can be reached are visited, and what must hold is looked
at in each: this is not a sample.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_hudi.core.attempts import (
    Attach,
    Attempt,
    Beat,
    Dead,
    Deliver,
    Launched,
    Life,
    Patience,
    judge_life,
    next_move,
)
from airflow_hudi.core.control import AttemptFolder, JobFolder
from airflow_hudi.core.errors import ObjectExists
from airflow_hudi.core.jobs import JobReport, Outcome
from airflow_hudi.core.storage.memory import InMemoryStorage, _Stored
from tests.builders import EPOCH
from tests.jobs import KEY, a_failure, a_report, a_spec

SUCCEEDED, SKIPPED, FAILED = "succeeded", "skipped", "failed"
FOLDER = KEY.folder
ENDS = (SUCCEEDED, SKIPPED, FAILED)


@dataclass(frozen=True)
class Task:
    """One try of an Airflow task; ``at`` is what it does next, or how it ended."""

    at: str = "look"
    number: int = 0
    is_again: bool = False


@dataclass(frozen=True)
class Driver:
    number: int
    at: str = "take the seat"
    report: JobReport | None = None

    @property
    def may_act(self) -> bool:
        return self.at in ("begin", "ask", "commit")


@dataclass(frozen=True)
class World:
    tasks: tuple[Task, ...]
    drivers: tuple[Driver, ...] = ()
    files: frozenset[tuple[str, bytes]] = frozenset()
    commits: tuple[int, ...] = ()
    """The attempts whose drivers have committed."""


@dataclass(frozen=True)
class Rules:
    """What may happen in a world."""

    hosts_answer: bool
    """Whether a task sees its driver's process; else every silence is taken for death at once, as
    by a task whose clock is far ahead."""
    tasks: int = 2
    drivers: int = 1
    """How many times a cluster starts the driver of one attempt."""


class Step:
    """One step in one world; afterwards the world is another one."""

    def __init__(self, world: World, rules: Rules) -> None:
        self.world = world
        self.rules = rules
        self.storage = InMemoryStorage(clock=lambda: EPOCH)
        self.storage._tree.objects.update({p: _Stored(data, EPOCH) for p, data in world.files})
        self.folder = JobFolder(self.storage, FOLDER)

    def result(self, **changes: Any) -> World:
        files = frozenset((path, kept.data) for path, kept in self.storage._tree.objects.items())
        return replace(self.world, files=files, **changes)

    # --- a task ----------------------------------------------------------------------------------

    def of_task(self, index: int) -> World:
        task = self.world.tasks[index]
        drivers = self.world.drivers
        if task.at == "launch":
            drivers += (Driver(task.number),) * self.rules.drivers
        elif task.at == "end it":
            drivers = tuple(
                replace(d, at="gone") if d.number == task.number else d for d in drivers
            )
        tasks = list(self.world.tasks)
        tasks[index] = getattr(self, f"_{task.at.replace(' ', '_')}")(task)
        return self.result(tasks=tuple(tasks), drivers=drivers)

    def _look(self, task: Task) -> Task:
        attempt = self.folder.load_latest()
        if attempt is None:
            return self._decide(task, None, None)
        life = self._life(attempt)
        if isinstance(life, Dead):  # a driver reports, and then it ends
            return replace(task, at="look again", number=attempt.number)
        return self._decide(task, attempt, life)

    def _look_again(self, task: Task) -> Task:
        attempt = self.folder.attempt(task.number).load()
        return self._decide(task, attempt, self._life(attempt))

    def _life(self, attempt: Attempt) -> Life | None:
        if attempt.report is not None:
            return None
        drivers = [d for d in self.world.drivers if d.number == attempt.number]
        is_there = any(driver.at != "gone" for driver in drivers)
        is_seen = self.rules.hosts_answer and attempt.launched is not None
        return judge_life(
            attempt,
            process_lives=is_there if is_seen else None,
            now=EPOCH if is_there and self.rules.hosts_answer else EPOCH + timedelta(days=1),
            patience=Patience(),
        )

    def _decide(self, task: Task, attempt: Attempt | None, life: Life | None) -> Task:
        move = next_move(attempt, life)
        if isinstance(move, Deliver):
            return replace(task, at="deliver", number=move.number)
        if isinstance(move, Attach):
            at = "end it" if move.attempt.is_cancelled else "watch"
            return replace(task, at=at, number=move.attempt.number)
        old = move.supersedes
        at = "search" if old is None else "close" if old.seat is None else "cancel"
        return Task(at, move.number, is_again=move.is_again)

    def _end_it(self, task: Task) -> Task:
        return Task()

    # The three steps of JobFolder.give_up, one by one.

    def _close(self, task: Task) -> Task:
        closed = self.folder.attempt(task.number - 1).close("a task")
        return replace(task, at="cancel") if closed else Task()

    def _cancel(self, task: Task) -> Task:
        self.folder.attempt(task.number - 1).cancel()
        return replace(task, at="ask for a report")

    def _ask_for_a_report(self, task: Task) -> Task:
        report = self.folder.attempt(task.number - 1).load_report()
        return replace(task, at="search") if report is None else Task()

    def _search(self, task: Task) -> Task:
        if self.world.commits:
            return Task(SKIPPED if task.is_again else SUCCEEDED)
        return replace(task, at="submit")

    def _submit(self, task: Task) -> Task:
        try:
            self.folder.attempt(task.number).submit(a_spec(task.number))
        except ObjectExists:
            return Task()
        return Task("launch", task.number)

    def _launch(self, task: Task) -> Task:
        return replace(task, at="record")

    def _record(self, task: Task) -> Task:
        self.folder.attempt(task.number).record_launch(Launched("host", task.number, "log"))
        return replace(task, at="watch")

    def _watch(self, task: Task) -> Task:
        attempt = self.folder.attempt(task.number).load()
        if attempt.report is not None:
            return replace(task, at="deliver")
        return replace(task, at="deliver") if isinstance(self._life(attempt), Dead) else task

    def _deliver(self, task: Task) -> Task:
        files = self.folder.attempt(task.number)
        if files.load_report() is not None or self.world.commits:
            files.deliver()
        return Task(SUCCEEDED if self.world.commits else FAILED)

    # --- a driver --------------------------------------------------------------------------------

    def of_driver(self, index: int) -> World:
        driver = self.world.drivers[index]
        files = self.folder.attempt(driver.number)
        commits = self.world.commits
        if driver.at == "take the seat":
            seated = files.take_seat("host", index)
            driver = replace(driver, at="begin" if seated else "gone")
        elif driver.at == "begin":
            files.load_spec()
            files.write_beat(Beat(1), None)
            driver = replace(driver, at="ask")
        elif driver.at == "ask":
            stop = a_failure(driver.number, retryable=True, kind="JobSuperseded")
            is_free = not files.is_cancelled()
            driver = replace(
                driver, at="commit" if is_free else "report", report=None if is_free else stop
            )
        elif driver.at == "commit":  # under the table's lock
            report = a_failure(driver.number, retryable=True) if commits else None
            commits = commits or (driver.number,)
            driver = replace(driver, at="report", report=report or a_report(number=driver.number))
        else:
            assert driver.report is not None
            files.write_report(driver.report)
            driver = Driver(driver.number, "gone")
        drivers = list(self.world.drivers)
        drivers[index] = driver
        return self.result(drivers=tuple(drivers), commits=commits)


def next_worlds(world: World, rules: Rules) -> Iterator[World]:
    """Every step that may come next.

    A crash that nobody can see is no step of its own: who crashed takes no more steps, which is
    among the orders anyway. What a crash leaves behind is looked at in every world, below.
    """
    for index, task in enumerate(world.tasks):
        if task.at not in ENDS:
            yield Step(world, rules).of_task(index)
    for index, driver in enumerate(world.drivers):
        if driver.at != "gone":
            yield Step(world, rules).of_driver(index)
            if rules.hosts_answer:
                drivers = list(world.drivers)
                drivers[index] = Driver(driver.number, "gone")
                yield replace(world, drivers=tuple(drivers))


def all_worlds(rules: Rules) -> set[World]:
    """Every world that can come to be; each, and each step that leads to it, has been checked."""
    first = World((Task(),) * rules.tasks)
    seen, waiting = {first}, [first]
    while waiting:
        world = waiting.pop()
        for then in next_worlds(world, rules):
            check_step(world, then, rules)
            after = in_order(then)
            if after not in seen:
                check_world(after, rules)
                seen.add(after)
                waiting.append(after)
    return seen


def check_world(world: World, rules: Rules) -> None:
    assert len(world.commits) <= 1
    acting = [driver for driver in world.drivers if driver.may_act]
    assert len({driver.number for driver in acting}) == len(acting), "two drivers on one seat"
    if len(acting) > 1:
        folder = Step(world, rules).folder
        unstopped = [d for d in acting if not folder.attempt(d.number).is_cancelled()]
        assert len(unstopped) <= 1, "two drivers that both may act"
    assert world.commits or not any(task.at in (SUCCEEDED, SKIPPED) for task in world.tasks)


def check_step(before: World, after: World, rules: Rules) -> None:
    # Where a living driver may be taken for dead it may end just then; its commit is found later.
    for task, then in zip(before.tasks, after.tasks, strict=True):
        if rules.hosts_answer and (task.at, then.at) == ("submit", "launch") and task.number > 1:
            previous = Step(before, rules).folder.attempt(task.number - 1).load()
            is_success = previous.report is not None and previous.report.outcome is Outcome.DONE
            assert not is_success or previous.is_delivered, "a finished job is run again"


def in_order(world: World) -> World:
    """The two tasks are alike: which one is called the first does not matter."""
    key = operator.attrgetter("at", "number", "is_again")
    return replace(world, tasks=tuple(sorted(world.tasks, key=key)))


@functools.cache
def end_of(world: World, rules: Rules) -> World:
    """No more crashes: the drivers that live go on, and a retry comes until it is no failure."""
    if world.tasks[0].at in (SUCCEEDED, SKIPPED):
        return world
    if world.tasks[0].at in ENDS:
        return end_of(replace(world, tasks=(Task(),)), rules)
    for index, driver in enumerate(world.drivers):
        if driver.at != "gone":
            world = Step(world, rules).of_driver(index)
    return end_of(Step(world, rules).of_task(0), rules)


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(Rules(hosts_answer=True), id="one host"),
        pytest.param(Rules(hosts_answer=False), id="clocks that disagree"),
        pytest.param(Rules(hosts_answer=True, tasks=1, drivers=3), id="a driver started thrice"),
    ],
)
def test_in_every_order_a_job_commits_once_and_its_success_is_heard_of(rules: Rules) -> None:
    worlds = all_worlds(rules)
    assert len(worlds) > 100
    for world in worlds:  # here both tasks crash, and the drivers go on, or crash as well
        left = replace(world, tasks=(Task(),))
        gone = tuple(Driver(driver.number, "gone") for driver in world.drivers)
        for start in (left, replace(left, drivers=gone)):
            end = end_of(start, rules)
            assert len(end.commits) == 1
            if end.tasks[0].at == SKIPPED:  # only where a task has returned the success before
                assert any(path.endswith("delivered.json") for path, _ in world.files)


Breakage = Callable[[pytest.MonkeyPatch], None]


def two_seats(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AttemptFolder, "take_seat", lambda *_: True)


def deaf_drivers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AttemptFolder, "is_cancelled", lambda _: False)


def a_seat_that_cannot_be_closed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AttemptFolder, "close", lambda *_: True)


@pytest.mark.parametrize(
    ("breakage", "rules"),
    [
        (two_seats, Rules(hosts_answer=True, tasks=1, drivers=2)),
        (deaf_drivers, Rules(hosts_answer=False)),
        (a_seat_that_cannot_be_closed, Rules(hosts_answer=True)),
    ],
)
def test_the_search_finds_a_protocol_that_is_broken(
    breakage: Breakage, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    breakage(monkeypatch)
    with pytest.raises(AssertionError):
        all_worlds(rules)
