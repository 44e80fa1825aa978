# SPDX-License-Identifier: Apache-2.0
"""The drivers that an Airflow under test has started: held, let go, killed, and counted."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from airflow_hudi.core.attempts import Attempt, Launched
from airflow_hudi.core.control import JobFolder
from airflow_hudi.hooks.processes import members, process_lives
from tests.system.running import Task, until, visible


@dataclass(frozen=True)
class Driver:
    """One attempt's processes."""

    launched: Launched

    @property
    def session(self) -> int:
        return self.launched.pid

    @property
    def is_alive(self) -> bool:
        return bool(process_lives(self.launched))

    @property
    def starter(self) -> int:
        """The process of the task that started it, while that lives."""
        return psutil.Process(self.session).ppid()

    def hold(self) -> None:
        """No process of it takes another step."""

        def all_stopped() -> bool:
            running = [pid for pid in members(self.session) if not _is_stopped(pid)]
            _signal(running, signal.SIGSTOP)
            return not running

        until(all_stopped, "the driver is stopped", within=10)

    def let_go(self) -> None:
        _signal(list(members(self.session)), signal.SIGCONT)

    def kill(self) -> None:
        """As the kernel does when memory runs out."""
        _signal(list(members(self.session)), signal.SIGKILL)
        self.is_gone(within=10)

    def is_gone(self, *, within: float) -> None:
        until(lambda: not self.is_alive, "the driver is gone", within=within)


def seated(task: Task, number: int = 1) -> Driver:
    """The driver of an attempt, once it has taken its seat."""

    def driver() -> Driver | None:
        attempt = loaded(task.folder, number)
        if attempt is None or attempt.launched is None or not attempt.is_seated:
            return None
        return Driver(attempt.launched)

    return until(driver, f"attempt {number} of {task.key} has its driver")


def loaded(folder: JobFolder, number: int) -> Attempt | None:
    return folder.attempt(number).load() if folder.latest_number() >= number else None


def kill_task(task: Task, driver: Driver) -> None:
    """End the task's own process, and nothing else, without a word."""
    assert driver.starter == task.facts()["pid"], "the driver was not started by this task"
    os.kill(driver.starter, signal.SIGKILL)


class Witness:
    """Sees every driver there is, all the time: how many a job has at once, and what they show."""

    def __init__(self, warehouse: Path) -> None:
        self._control = warehouse / ".hudi_control"
        self._seats: dict[Path, int] = {}
        self._most: dict[str, int] = defaultdict(int)
        self._shown: dict[int, str] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="witness")
        self._thread.start()

    def most_at_once(self, task: Task) -> int:
        """The most drivers that were alive, and had a seat, at one moment."""
        return self._most[task.folder.path]

    def shown_to_anybody(self) -> str:
        """Command lines and environments of all processes of all drivers."""
        return "\n".join(self._shown.values())

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            self._note_seats()
            alive: dict[str, int] = defaultdict(int)
            processes = _processes_by_session()
            for attempt, session in self._seats.items():
                pids = [pid for pid in processes[session] if _is_alive(pid)]
                if pids:
                    alive[attempt.parent.relative_to(self._control).as_posix()] += 1
                    self._look_at(pids)
            for job, drivers in alive.items():
                self._most[job] = max(self._most[job], drivers)

    def _note_seats(self) -> None:
        for attempt in self._control.glob("jobs/*/*/*/*"):
            files = [attempt / "seat.json", attempt / "launched.json"]
            if attempt not in self._seats and all(file.exists() for file in files):
                seat, launched = (json.loads(file.read_text()) for file in files)
                if seat["pid"] is not None:
                    self._seats[attempt] = launched["pid"]

    def _look_at(self, pids: list[int]) -> None:
        for pid in pids:
            if pid not in self._shown:
                self._shown[pid] = visible(pid)


def _processes_by_session() -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for pid in psutil.pids():
        with suppress(ProcessLookupError):
            found[os.getsid(pid)].append(pid)
    return found


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _is_stopped(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return True


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
