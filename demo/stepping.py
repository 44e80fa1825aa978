# SPDX-License-Identifier: Apache-2.0
"""Jobs that stop where a test wants them to: real work on a real engine, step by step.

A job's table client is wrapped, so that something can be done before and after each of its calls.
At such a point another job can be run to its end in the same process, or the whole process can be
held until somebody outside has stopped, continued or killed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.jobs import JobArguments, JobReport

if TYPE_CHECKING:
    from airflow_hudi.spark.runner import Job

Hook = Callable[[], None]
Hooks = Mapping[str, Hook]
"""By point: ``"before execute"``, ``"after execute"``, ``"in commit"`` (checked, lock held), …"""


class Stepped:
    """A table client whose every call passes a point before and one after it."""

    def __init__(self, client: Any, hooks: Hooks) -> None:
        self._client = client
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self._pass(f"before {name}")
            if name == "commit" and named.get("check"):
                named = {**named, "check": self._then(named["check"], "in commit")}
            result = method(*arguments, **named)
            self._pass(f"after {name}")
            return result

        return method if name == "lock" else call

    def _then(self, check: Hook, point: str) -> Hook:
        def checked() -> None:
            check()
            self._pass(point)

        return checked

    def _pass(self, point: str) -> None:
        hook = self._hooks.get(point)
        if hook is not None:
            hook()


class SteppedEngine:
    """An engine that gives out stepped clients."""

    def __init__(self, engine: Any, hooks: Hooks) -> None:
        self._engine = engine
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def client(self, base: str, options: Mapping[str, str]) -> AbstractContextManager[Any]:
        """A stepped client."""
        return self._opened(base, options)

    def write(self, *arguments: Any, before_commit: Any = None, **named: Any) -> Any:
        """A write with a point right before its commit."""

        def checked(commit: Any) -> None:
            before_commit(commit)
            self._hooks.get("in write", _nothing)()

        return self._engine.write(*arguments, before_commit=checked, **named)

    @contextmanager
    def _opened(self, base: str, options: Mapping[str, str]) -> Iterator[Any]:
        with self._engine.client(base, options) as client:
            yield Stepped(client, self._hooks)


def _nothing() -> None:
    pass


def work_of(script: str) -> Callable[[Job], JobReport]:
    """What a job script does."""
    from airflow_hudi.spark.cleaning import clean  # noqa: PLC0415 - only on the engine
    from airflow_hudi.spark.ingestion import ingest  # noqa: PLC0415
    from airflow_hudi.spark.reading import read  # noqa: PLC0415
    from airflow_hudi.spark.services import serve  # noqa: PLC0415

    works = {"ingestion": ingest, "compaction": serve, "cleaning": clean, "reading": read}
    return works[script]


def run(script: str, argv: list[str], hooks: Hooks | None = None) -> JobReport:
    """One attempt at a job in this process, with something to be done at some of its points."""
    from airflow_hudi.spark.runner import run_attempt  # noqa: PLC0415 - only on the engine

    def stepped(job: Job) -> JobReport:
        return work_of(script)(replace(job, engine=SteppedEngine(job.engine, hooks or {})))

    return run_attempt(JobArguments.from_argv(argv), stepped)
