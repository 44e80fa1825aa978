# SPDX-License-Identifier: Apache-2.0
"""What a lock is to those who hold one from Python."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Lock(Protocol):
    """One contender for one lock. Nobody waits: what cannot be had now is asked for again."""

    def acquire(self) -> bool:
        """Take the lock, or say False because somebody holds it (this contender included)."""
        ...

    def release(self) -> None:
        """Give the lock back, or raise :class:`LockNotHeld` where it is not ours (any more)."""
        ...
