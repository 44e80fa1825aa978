# SPDX-License-Identifier: Apache-2.0
"""Real Hudi engines for tests: one process with one JVM per release, kept for the whole run.

::

    engine = EngineProcess("1.2.0")                 # returns at once; Spark starts meanwhile
    engine.call("tests.tables.recipes:make", ...)   # waits for Spark, then for fn(spark, **kwargs)
    held = engine.begin("tests.…:write_slowly")     # does not wait
    engine.kill()                                   # kill -9 of Python, JVM and Spark's workers
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 180.0
CALL_SECONDS = 300.0
CLOSE_SECONDS = 20.0


class EngineCallFailed(Exception):
    """The function raised on the engine's side; `traceback` is its text."""

    def __init__(self, function: str, error: str, traceback: str) -> None:
        self.function = function
        self.error = error
        self.traceback = traceback
        super().__init__(f"{function} failed on the engine: {error}\n{traceback}")


class EngineDied(Exception):
    """The engine's process ended before it answered."""

    def __init__(self, release: str, log: str) -> None:
        super().__init__(f"the engine of Hudi {release} is gone; the end of its log:\n{log}")


class EngineProcess:
    """One Python process with one Spark session on one Hudi release."""

    def __init__(self, release: str, *, cores: str = "2") -> None:
        self.release = release
        self._folder = Path(tempfile.mkdtemp(prefix=f"engine-{release}-"))
        self._lock = threading.Lock()
        self._number = 0
        self._pending: dict[int, tuple[str, Future[Any]]] = {0: ("start", Future())}
        self._ready = self._pending[0][1]
        self._process = self._start(cores)
        self._reader = threading.Thread(target=self._read_replies, daemon=True)
        self._reader.start()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def call(self, function: str, *, timeout: float = CALL_SECONDS, **arguments: Any) -> Any:
        """Call `module:function` as ``fn(spark, **arguments)`` and return what it returned.

        After a timeout the engine's state is unknown, so it is killed.
        """
        self._ready.result(START_SECONDS)
        reply = self.begin(function, **arguments)
        try:
            return reply.result(timeout)
        except TimeoutError:
            self.kill()
            raise

    def begin(self, function: str, **arguments: Any) -> Future[Any]:
        """Send a call and return at once; calls are served one after another."""
        with self._lock:
            self._number += 1
            reply: Future[Any] = Future()
            self._pending[self._number] = (function, reply)
            request = {"id": self._number, "function": function, "arguments": arguments}
            try:
                self._requests.write(json.dumps(request) + "\n")
                self._requests.flush()
            except (OSError, ValueError):  # a broken or closed pipe
                del self._pending[self._number]
                raise EngineDied(self.release, self.log_tail()) from None
        return reply

    def await_file(self, path: Path, running: Future[Any], seconds: float = 180.0) -> None:
        """Until the process has made a file; what it raised instead is raised."""
        until = time.monotonic() + seconds
        while not path.exists():
            if running.done():
                running.result()
                raise AssertionError(f"it ended without having made {path.name}")
            if time.monotonic() > until:
                raise TimeoutError(self.log_tail())
            time.sleep(0.02)

    def stop(self) -> None:
        """SIGSTOP for Python, JVM and Spark's workers, as a machine that swaps would do."""
        self._signal(signal.SIGSTOP)

    def proceed(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in _session_members(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """SIGKILL for Python, JVM and Spark's Python workers, as a power cut would do."""
        _kill_group(self._process.pid)
        until = time.monotonic() + CLOSE_SECONDS
        while (members := _session_members(self._process.pid)) and time.monotonic() < until:
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)  # a large JVM takes a moment to go
        self._end()

    def close(self) -> None:
        """Let Spark stop by itself; kill what is still there afterwards."""
        with contextlib.suppress(OSError, ValueError):
            self._requests.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_SECONDS)
        self.kill()

    def log_tail(self, lines: int = 30) -> str:
        """What Spark and Hudi printed last."""
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def _start(self, cores: str) -> subprocess.Popen[bytes]:
        requests_read, requests_write = os.pipe()
        replies_read, replies_write = os.pipe()
        self._log = self._folder / "log.txt"
        command = [
            *(sys.executable, "-m", "tests.spark.worker"),
            *("--release", self.release, "--cores", cores),
            *("--warehouse", str(self._folder / "warehouse")),
            *("--requests", str(requests_read), "--replies", str(replies_write)),
        ]
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self._folder,  # Derby and Spark leave files where they run
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(requests_read, replies_write),
                start_new_session=True,
            )
        os.close(requests_read)
        os.close(replies_write)
        self._requests = os.fdopen(requests_write, "w")
        self._replies = os.fdopen(replies_read)
        return process

    def _read_replies(self) -> None:
        for line in self._replies:
            reply = json.loads(line)
            with self._lock:
                function, future = self._pending.pop(reply["id"])
            if "error" in reply:
                error = EngineCallFailed(function, reply["error"], reply["traceback"])
                future.set_exception(error)
            else:
                future.set_result(reply["result"])
        with self._lock:
            orphans, self._pending = list(self._pending.values()), {}
        for _, future in orphans:
            future.set_exception(EngineDied(self.release, self.log_tail()))

    def _end(self) -> None:
        self._process.wait()
        self._reader.join(CLOSE_SECONDS)
        with contextlib.suppress(OSError, ValueError):
            self._requests.close()
        self._replies.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Engines:
    """The engines of a test run, by release; each starts when it is first asked for."""

    def __init__(self) -> None:
        self._running: dict[str, EngineProcess] = {}

    def __getitem__(self, release: str) -> EngineProcess:
        """The running engine of a release; a killed one is replaced."""
        engine = self._running.get(release)
        if engine is None or not engine.is_alive:
            engine = self._running[release] = EngineProcess(release)
        return engine

    def close(self) -> None:
        for engine in self._running.values():
            engine.close()


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _session_members(session: int) -> list[int]:
    """All living processes of a session: Spark's Python daemon leaves the group, not the session.

    Empty where there is no /proc; killing the group must do there.
    """
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            # pid (name, which may hold blanks) state ppid pgrp session …
            state, _, _, leader = stat.read_text().rpartition(")")[2].split()[:4]
            if int(leader) == session and state != "Z":
                members.append(int(stat.parent.name))
    return members
