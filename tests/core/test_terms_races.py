# SPDX-License-Identifier: Apache-2.0
"""Two jobs on one table that start at once, in every order of their steps."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from airflow_hudi.core.job_errors import TermsDisagree
from airflow_hudi.core.storage import InMemoryStorage, Listing, Version
from airflow_hudi.core.terms import Record, Terms
from tests.builders import EPOCH
from tests.terms import BOTH, LOCKED, QUICK, a_folder, a_record, always, records


@dataclass
class Turns:
    """Lets threads take one step each in the order it is given; who has ended is passed over."""

    order: list[str]
    ended: set[str] = field(default_factory=set)
    turn: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def step(self, who: str) -> Iterator[None]:
        with self.turn:
            assert self.turn.wait_for(lambda: self._is_next(who), timeout=30)
            if self.order:
                self.order.pop(0)
            yield
            self.turn.notify_all()

    def _is_next(self, who: str) -> bool:
        while self.order and self.order[0] in self.ended:
            self.order.pop(0)
        return not self.order or self.order[0] == who

    def end(self, who: str) -> None:
        with self.turn:
            self.ended.add(who)
            self.turn.notify_all()


class SteppedStorage(InMemoryStorage):
    """One participant's view of a common storage."""

    def __init__(self, common: InMemoryStorage, turns: Turns, who: str) -> None:
        super().__init__()
        self._tree = common._tree
        self._turns = turns
        self._who = who

    def create(self, path: str, data: bytes) -> Version:
        with self._turns.step(self._who):
            return super().create(path, data)

    def list_folder(self, path: str) -> Listing:
        with self._turns.step(self._who):
            return super().list_folder(path)

    def read(self, path: str) -> bytes:
        with self._turns.step(self._who):
            return super().read(path)

    def delete(self, path: str, *, expected: Version | None = None) -> None:
        with self._turns.step(self._who):
            super().delete(path, expected=expected)


def race(order: tuple[str, ...], starts: dict[str, Record]) -> tuple[set[str], set[str]]:
    """Who was launched, and whose records are there afterwards."""
    common = InMemoryStorage()
    turns = Turns(list(order))
    launched: set[str] = set()

    def start(who: str) -> None:
        folder = a_folder(always, SteppedStorage(common, turns, who))
        try:
            with folder.declared(starts[who], now=EPOCH):
                launched.add(who)
        except TermsDisagree:
            pass
        finally:
            turns.end(who)

    threads = [threading.Thread(target=start, args=(who,)) for who in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = records(a_folder(storage=common))
    return launched, {who for who, record in starts.items() if record in left}


ORDERS = sorted(set(itertools.permutations("aaaabbbb")))


@pytest.mark.parametrize("theirs", [QUICK, LOCKED, BOTH])
def test_two_that_start_at_once_on_other_terms_are_never_both_launched(theirs: Terms) -> None:
    starts = {"a": a_record("ingest"), "b": a_record("clean", theirs)}
    outcomes = {(frozenset(launched), frozenset(left)) for launched, left in races(starts)}
    none, a, b = frozenset[str](), frozenset("a"), frozenset("b")
    assert outcomes == {(none, none), (a, a), (b, b)}


def test_two_jobs_of_one_task_that_start_at_once_on_other_terms_neither() -> None:
    starts = {"a": a_record(), "b": a_record(terms=QUICK, run="2")}
    assert all(len(launched) < 2 and left == launched for launched, left in races(starts))


def test_two_that_start_at_once_on_equal_terms_are_both_launched() -> None:
    starts = {"a": a_record("ingest"), "b": a_record("clean")}
    assert all(launched == left == {"a", "b"} for launched, left in races(starts))


def races(starts: dict[str, Record]) -> Iterator[tuple[set[str], set[str]]]:
    return (race(order, starts) for order in ORDERS)
