# SPDX-License-Identifier: Apache-2.0
"""Which machine this is, so that a process number written down here is not believed elsewhere."""

from __future__ import annotations

import functools
import socket
from contextlib import suppress
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
