# SPDX-License-Identifier: Apache-2.0
"""Which machine this is, so that a process number written down here is not believed elsewhere,
and whether a process on it still lives."""

from __future__ import annotations

import functools
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@functools.cache
def host_id() -> str:
    """Name, boot and process space of this machine: equal only where a pid means the same process.

    A container has a process space of its own, and after a restart the same pid is another process.
    """
    parts = [socket.gethostname()]
    with suppress(OSError):  # only Linux tells
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Process:
    """A process of one host: its number, and when it began, for numbers are used anew."""

    pid: int
    began: int | None = None
    """In the kernel's own ticks since the machine was started; None where it does not tell."""


def process(pid: int) -> Process:
    """A process as it is now."""
    state = _state(pid)
    return Process(pid, None if state is None else state[1])


def process_lives(process: Process) -> bool:
    """Whether this very process is there; stopped counts as there, ended and not yet reaped not."""
    state = _state(process.pid)
    if state is not None:
        letter, began = state
        return letter not in ("Z", "X") and process.began in (None, began)
    return not Path("/proc/self/stat").exists() and _answers(process.pid)


def _state(pid: int) -> tuple[str, int] | None:
    """The state's letter and the start time, from Linux' /proc; None: no such process, or no
    Linux."""
    with suppress(OSError, ValueError, IndexError):
        # pid (name, which may hold blanks and brackets) state … starttime is the 22nd field
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], int(fields[19])
    return None


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
