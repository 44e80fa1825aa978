# SPDX-License-Identifier: Apache-2.0
"""The processes of one place: found by the mark in their environment, and ended, all of them.

Their parents are no help: a driver outlives the task that started it, and much of Airflow outlives
the process that it was started by.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

import psutil

from demo.environment import MARK, Place

_PAUSE = 0.1
_ASKED = 3.0
_KILLED = 5.0


def processes_of(place: Place) -> list[psutil.Process]:
    """What was started for a place and is alive; not this process itself."""
    return [process for process in psutil.process_iter() if _is_of(process, place)]


def end_processes(place: Place) -> bool:
    """End whatever is alive of a place, gently and then hard; whether nothing is left."""
    for process in processes_of(place):
        with suppress(psutil.Error):
            process.terminate()
    if _gone(place, within=_ASKED):
        return True
    for process in processes_of(place):
        with suppress(psutil.Error):
            process.kill()
    return _gone(place, within=_KILLED)


def _is_of(process: psutil.Process, place: Place) -> bool:
    with suppress(psutil.Error, OSError):
        if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
            return False
        return bool(process.environ().get(MARK) == str(place.folder))
    return False


def _gone(place: Place, *, within: float) -> bool:
    """Wait until nothing of a place is alive; False after so many seconds."""
    until = time.monotonic() + within
    while processes_of(place):
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True
