# SPDX-License-Identifier: Apache-2.0
"""The processes of a driver on this host: are they there, and how they are ended.

A driver is started as the leader of a process session of its own. Spark's Python workers leave the
process group but not the session, so it is the session that is asked and ended.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

from airflow_hudi.core.attempts import Launched
from airflow_hudi.core.hosts import host_id

_PAUSE = 0.05
_SAME = 2.0  # seconds: the clock that tells a birth may be set


def process_lives(launched: Launched | None) -> bool | None:
    """Whether anything of the driver is alive; None where only another host can tell."""
    if launched is None or launched.host != host_id():
        return None
    if is_another(launched):
        return False
    return any(True for _ in members(launched.pid))


def birth(pid: int) -> float | None:
    """When a process began, or None where it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).create_time()
    return None


def is_another(launched: Launched) -> bool:
    """Whether the number is now some other process's: it began at another time."""
    now = birth(launched.pid)
    return now is not None and launched.born is not None and abs(now - launched.born) > _SAME


def members(session: int) -> Iterator[int]:
    """The living processes of a session. Its number is not used anew while it has any."""
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            if os.getsid(pid) == session and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                yield pid


def end_session(session: int, *, first: int | None, patience: float, last_wait: float) -> bool:
    """End a session, gently and then hard; whether nothing of it is left.

    :param first: the process to be asked alone at first, so that it can write its report
    """
    if first is not None:
        _signal(first, signal.SIGTERM)
        if _gone(session, patience):
            return True
    for member in members(session):
        _signal(member, signal.SIGTERM)
    return _gone(session, last_wait) or _gone(session, last_wait, number=signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _gone(session: int, seconds: float, number: signal.Signals | None = None) -> bool:
    """Whether it is gone by then; signalled again and again, for a process may be just forking."""
    until = time.monotonic() + seconds
    while left := list(members(session)):
        if time.monotonic() > until:
            return False
        for member in left if number is not None else ():
            _signal(member, number or signal.SIGKILL)
        time.sleep(_PAUSE)
    return True
