# SPDX-License-Identifier: Apache-2.0
"""What a claim is worth: by the word of its host, and by how long it has been silent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_hudi.core.claims import (
    Claim,
    ClaimFile,
    Executor,
    Free,
    Held,
    Standing,
    TakeoverPolicy,
    host_says,
    judge_claim,
    standings,
)
from airflow_hudi.core.hosts import Process, host_id, process
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.storage.memory import InMemoryStorage
from tests.builders import EPOCH

TABLE = "/lake/orders"
PLAN = InstantTime("20")
POLICY = TakeoverPolicy()
ONE = Executor("job-1", "jobs/1", 1, "there boot 7", (Process(1, 5),))

UNTIL = EPOCH + timedelta(minutes=7)


@pytest.mark.parametrize(
    ("lives", "minutes", "standing"),
    [
        (True, 0, Held(Claim(ONE, 1, EPOCH), UNTIL)),
        (None, 0, Held(Claim(ONE, 1, EPOCH), UNTIL)),
        (None, -60, Held(Claim(ONE, 1, EPOCH), UNTIL)),
        (None, 7, Held(Claim(ONE, 1, EPOCH), UNTIL)),
        (True, 7, Held(Claim(ONE, 1, EPOCH), UNTIL)),
        (None, 7.1, Free(f"{ONE} has been silent for 7 min")),
        (True, 90, Free(f"{ONE} has been silent for 90 min")),
        (False, 0, Free(f"{ONE} is gone")),
        (False, 90, Free(f"{ONE} is gone")),
    ],
)
def test_only_the_gone_and_the_long_silent_lose_a_claim(
    lives: bool | None,  # noqa: FBT001
    minutes: float,
    standing: Standing,
) -> None:
    now = EPOCH + timedelta(minutes=minutes)
    assert judge_claim(Claim(ONE, 1, EPOCH), lives=lives, now=now, policy=POLICY) == standing


def test_a_claim_of_unknown_age_is_young() -> None:
    held = judge_claim(Claim(ONE), lives=None, now=EPOCH, policy=POLICY)
    assert held == Held(Claim(ONE), UNTIL)


def test_all_claims_on_a_table_are_judged_at_once() -> None:
    file = ClaimFile(InMemoryStorage(clock=lambda: EPOCH), TABLE, PLAN)
    file.take(ONE, lambda claim: Held(claim, EPOCH))
    assert standings(file.storage, TABLE, POLICY, now=EPOCH) == {
        PLAN: Held(Claim(ONE, 1, EPOCH), UNTIL)
    }
    (later,) = standings(file.storage, TABLE, POLICY, now=EPOCH + timedelta(hours=1)).values()
    assert isinstance(later, Free)


# --- the word of the host -------------------------------------------------------------------------


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    waiting = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE) as started:
        yield started
        with suppress(ProcessLookupError):
            os.kill(started.pid, signal.SIGCONT)
        started.kill()


def here(*processes: Process) -> Executor:
    return replace(ONE, host=host_id(), processes=processes)


def test_another_host_cannot_tell(child: subprocess.Popen[bytes]) -> None:
    assert host_says(replace(ONE, processes=(process(child.pid),))) is None


def test_this_host_tells_the_living_from_the_gone(child: subprocess.Popen[bytes]) -> None:
    executor = here(process(child.pid))
    assert host_says(executor) is True
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert host_says(executor) is False  # ended, and not yet reaped
    child.wait()
    assert host_says(executor) is False


def test_an_executor_lives_as_long_as_one_of_its_processes(child: subprocess.Popen[bytes]) -> None:
    gone = Process(process(os.getpid()).pid, began=1)
    executor = here(gone, process(child.pid))
    assert host_says(executor) is True
    child.kill()
    child.wait()
    assert host_says(executor) is False


def test_a_stopped_executor_loses_its_claim_only_after_silence_and_grace(
    child: subprocess.Popen[bytes],
) -> None:
    executor = here(process(child.pid))
    os.kill(child.pid, signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)
    lives = host_says(executor)
    assert lives is True
    for minutes, kind in ((0, Held), (6, Held), (8, Free)):
        now = EPOCH + timedelta(minutes=minutes)
        standing = judge_claim(Claim(executor, 1, EPOCH), lives=lives, now=now, policy=POLICY)
        assert isinstance(standing, kind)
