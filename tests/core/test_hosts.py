# SPDX-License-Identifier: Apache-2.0
"""Which machine this is, and whether a process on it lives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_hudi.core import hosts
from airflow_hudi.core.hosts import Process, host_id, process, process_lives


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    waiting = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def test_a_process_is_known_by_its_number_and_its_beginning(child: subprocess.Popen[bytes]) -> None:
    seen = process(child.pid)
    assert seen.pid == child.pid
    assert seen.began is not None
    assert seen.began >= (process(os.getpid()).began or 0)
    assert process_lives(seen)
    assert process_lives(Process(child.pid))  # without its beginning, the number has to do


def test_a_number_that_is_used_anew_is_another_process(child: subprocess.Popen[bytes]) -> None:
    seen = process(child.pid)
    assert not process_lives(replace(seen, began=(seen.began or 0) - 1))


def test_who_has_ended_does_not_live_whether_reaped_or_not(child: subprocess.Popen[bytes]) -> None:
    seen = process(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process(child.pid) == seen  # a zombie keeps its place
    assert not process_lives(seen)
    child.wait()
    assert process(child.pid) == Process(child.pid, None)
    assert not process_lives(seen)
    assert not process_lives(Process(child.pid))


STAT = "7 (a) (name)) {} 1 " + " ".join(str(number) for number in range(5, 22)) + " 4711 0 0"


@pytest.mark.parametrize(("letter", "lives"), [("S", True), ("R", True), ("D", True), ("T", True)])
def test_who_sleeps_waits_or_is_stopped_is_there(
    letter: str,
    lives: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: STAT.format(letter))
    assert process(7) == Process(7, 4711)  # whatever brackets its name holds
    assert process_lives(Process(7, 4711)) is lives
    assert not process_lives(Process(7, 4712))


@pytest.mark.parametrize("letter", ["Z", "X"])
def test_the_ended_are_not_there(letter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: STAT.format(letter))
    assert not process_lives(Process(7, 4711))
    assert not process_lives(Process(7))


@pytest.mark.parametrize(
    "text", ["", "7 (name)", "7 (name) S 1", STAT.format("S").replace("4711", "x")]
)
def test_a_stat_of_another_shape_is_no_process(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: text)
    assert process(os.getpid()) == Process(os.getpid(), None)
    assert not process_lives(Process(os.getpid()))


@pytest.mark.parametrize(
    ("error", "lives"), [(None, True), (ProcessLookupError, False), (PermissionError, True)]
)
def test_where_there_is_no_proc_a_signal_asks(
    error: type[OSError] | None,
    lives: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        asked.append((pid, number))
        if error is not None:
            raise error

    monkeypatch.setattr(hosts, "_state", lambda _: None)
    monkeypatch.setattr(Path, "exists", lambda _: False)
    monkeypatch.setattr(os, "kill", kill)
    assert process_lives(Process(7)) is lives
    assert asked == [(7, 0)]


def test_a_host_is_its_name_its_boot_and_its_process_space(monkeypatch: pytest.MonkeyPatch) -> None:
    name, boot, space = host_id().split()
    assert name
    assert boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert space.startswith("pid:[")

    def no_proc(_: Path) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", no_proc)
    host_id.cache_clear()
    try:
        assert host_id() == name
    finally:
        host_id.cache_clear()
