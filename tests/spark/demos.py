# SPDX-License-Identifier: Apache-2.0
"""The modules behind `make demo` and `make ui`, called as make does, in a test's own folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo.environment import Place
from demo.processes import end_processes

ROOT = Path(__file__).resolve().parents[2]


class Started:
    """A running module; what it says is read line by line."""

    def __init__(self, module: str, place: Place, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments, "--folder", str(place.folder)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def says(self, wanted: str) -> str:
        """All it says until a line has the wanted words."""
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            if wanted in line:
                return said
        raise AssertionError(f"{wanted!r} was never said, but\n{said}")

    def ends(self, *, within: float) -> tuple[int, str]:
        """Its exit code, and all it says until then."""
        said, _ = self.process.communicate(timeout=within)
        return self.process.returncode, said


@contextmanager
def started(module: str, place: Place, *arguments: str) -> Iterator[Started]:
    """Whatever a failed test leaves running is ended."""
    running = Started(module, place, *arguments)
    try:
        yield running
    finally:
        running.process.kill()
        end_processes(place)
        running.process.communicate()
