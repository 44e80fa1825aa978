# SPDX-License-Identifier: Apache-2.0
"""A driver's proof of life: a thread that writes a beat, and looks whether it may go on."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable

from airflow_hudi.core.attempts import Beat
from airflow_hudi.core.claims import ClaimLost, HeldClaim
from airflow_hudi.core.control import AttemptFolder
from airflow_hudi.core.errors import ConcurrencyError, StorageError
from airflow_hudi.core.job_errors import JobSuperseded
from airflow_hudi.core.storage.base import Version

_GRACE_SECONDS = 30.0


class Beating:
    """Beats from :meth:`start` to :meth:`stop`; told to stop, it ends the driver.

    First by a signal that the main thread turns into an error and so into a report. A driver that
    has not ended half a minute later (Java does not answer) is ended the hard way.
    """

    def __init__(self, folder: AttemptFolder) -> None:
        self._folder = folder
        self._interval = 1.0
        self._ended = threading.Event()
        self._soon = threading.Event()
        self._thread: threading.Thread | None = None
        self._version: Version | None = None
        self._number = 0
        self.progress = ""
        self.application_id: str | None = None
        self.tracking_url: str | None = None
        self.on_stop: Callable[[], None] | None = None
        self.is_told_to_stop = False
        self._claims: list[HeldClaim] = []
        self._renewing = threading.Lock()

    def start(self, interval: float) -> None:
        """Begin; the first beat is written before this returns."""
        self._interval = interval
        self._beat()
        self._thread = threading.Thread(target=self._go_on, name="beating", daemon=True)
        self._thread.start()

    def announce(self, application_id: str, tracking_url: str | None) -> None:
        """Say at once where the application can be watched; not only at the next beat."""
        self.application_id, self.tracking_url = application_id, tracking_url
        self._soon.set()

    def keep(self, claim: HeldClaim) -> None:
        """Renew a claim with every beat from now on."""
        self._claims.append(claim)

    def let_go(self, claim: HeldClaim) -> None:
        """No longer renew it."""
        with self._renewing:
            self._claims.remove(claim)

    def stop(self) -> None:
        """No more beats; the report has said all."""
        self._ended.set()
        self._soon.set()
        if self._thread is not None:
            self._thread.join()

    def check(self) -> None:
        """Raise :class:`JobSuperseded` unless this driver may still act for its job."""
        if self._folder.is_cancelled():
            self.is_told_to_stop = True
            raise JobSuperseded(self._folder.path, because="it was cancelled, or begun anew")

    def _go_on(self) -> None:
        while not self._ended.is_set():
            self._soon.wait(self._interval)
            self._soon.clear()
            if self._ended.is_set():
                return
            try:
                self._beat()
                if self._folder.is_cancelled():
                    self._end_driver()
                    return
            except (StorageError, ConcurrencyError) as error:
                # A storage that is away for a moment must not cost the work done so far.
                sys.stderr.write(f"the heartbeat could not be written: {error}\n")

    def _beat(self) -> None:
        self._number += 1
        beat = Beat(self._number, self.progress, self.application_id, self.tracking_url)
        self._version = self._folder.write_beat(beat, self._version)
        with self._renewing:
            for claim in self._claims:
                # One that is lost is found so by its executor, at the latest before its commit.
                with contextlib.suppress(ClaimLost):
                    claim.renew()

    def _end_driver(self) -> None:
        self.is_told_to_stop = True
        if self.on_stop is not None:
            # Beside the rest: Java may not answer, or say no, and the driver must end all the same.
            threading.Thread(target=self.on_stop, name="stopping", daemon=True).start()
        os.kill(os.getpid(), signal.SIGTERM)
        if not self._ended.wait(_GRACE_SECONDS):
            os._exit(1)
