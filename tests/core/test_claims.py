# SPDX-License-Identifier: Apache-2.0
"""One executor per plan: who gets a claim, who keeps it, who loses it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_hudi.core.claims import (
    Claim,
    ClaimFile,
    ClaimLost,
    Executor,
    Free,
    Held,
    HeldClaim,
    PlanClaimed,
    Standing,
    TakeoverPolicy,
    load_claims,
)
from airflow_hudi.core.errors import InvalidInput, ObjectExists, OutcomeUnknown, VersionMismatch
from airflow_hudi.core.hosts import Process
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.storage.base import Content, Version
from airflow_hudi.core.storage.memory import InMemoryStorage
from airflow_hudi.testing import FakeClock
from tests.builders import EPOCH

TABLE = "/lake/orders"
PLAN = InstantTime("20")
POLICY = TakeoverPolicy()


def an_executor(number: int = 1, **changes: object) -> Executor:
    executor = Executor(f"job-{number}", f"jobs/{number}", 1, "there boot 7", (Process(number, 5),))
    return replace(executor, **changes)  # type: ignore[arg-type]


ONE, TWO = an_executor(1), an_executor(2)


def a_file(storage: InMemoryStorage | None = None) -> ClaimFile:
    return ClaimFile(storage or InMemoryStorage(clock=lambda: EPOCH), TABLE, PLAN)


def not_asked(claim: Claim) -> Standing:
    pytest.fail(f"nobody was to judge {claim}")


def free(_: Claim) -> Standing:
    return Free("so it was judged")


def held(claim: Claim) -> Standing:
    return Held(claim, EPOCH)


def taken(file: ClaimFile, executor: Executor = ONE) -> HeldClaim:
    claim, because = file.take(executor, not_asked)
    assert because is None
    return claim


# --- taking ---------------------------------------------------------------------------------------


def test_who_comes_first_has_it_and_says_so_in_a_file() -> None:
    file = a_file()
    assert file.load() is None
    taken(file)
    assert file.load() == Claim(ONE, 1, EPOCH)
    assert file.path == f"claims/{file.path.split('/')[1]}/20.json"
    assert load_claims(file.storage, f"file:{TABLE}/") == {PLAN: Claim(ONE, 1, EPOCH)}


def test_who_is_not_proved_dead_keeps_it() -> None:
    file = a_file()
    taken(file)
    with pytest.raises(PlanClaimed) as raised:
        file.take(TWO, held)
    assert raised.value.retryable
    assert (raised.value.uri, raised.value.instant, raised.value.until) == (TABLE, PLAN, EPOCH)
    assert raised.value.claim.executor == ONE
    assert str(raised.value) == (
        "20 of /lake/orders is claimed by job-1 (attempt 1, process 1 on there), which is not"
        " proved dead; two executions of one plan would corrupt the table, so this one is not"
        " started: it may be taken over at 00:00:00 UTC, or as soon as that process is gone"
    )
    assert file.load() == Claim(ONE, 1, EPOCH)


def test_what_the_dead_had_is_taken_over_and_they_lose_it() -> None:
    file = a_file()
    first = taken(file)
    second, because = file.take(TWO, free)
    assert because == "so it was judged"
    second.check()
    for act in (first.check, first.renew):
        with pytest.raises(ClaimLost, match="job-2") as raised:
            act()
        assert raised.value.path == file.path
        assert raised.value.retryable
    first.release()  # not its own to give
    assert file.load() == Claim(TWO, 2, EPOCH)


def test_a_claim_that_is_gone_is_lost() -> None:
    file = a_file()
    claim = taken(file)
    file.storage.delete(file.path)
    for act in (claim.check, claim.renew):
        with pytest.raises(ClaimLost, match="it is gone"):
            act()
    claim.release()
    assert file.load() is None


def test_each_renewal_is_another_one_and_dated_by_the_storage() -> None:
    clock = FakeClock(EPOCH)
    file = a_file(InMemoryStorage(clock=clock))
    claim = taken(file)
    for number in (2, 3):
        later = clock.advance(timedelta(minutes=1))
        claim.renew()
        assert file.load() == Claim(ONE, number, later)
    claim.check()
    claim.release()
    assert file.load() is None
    taken(file, TWO)


def test_one_that_was_renewed_after_it_was_judged_is_not_taken_over() -> None:
    file = a_file()
    first = taken(file)
    judgements: list[int] = []

    def judge(claim: Claim) -> Standing:
        judgements.append(claim.number)
        if len(judgements) > 1:
            return held(claim)
        first.renew()  # just now
        return free(claim)

    with pytest.raises(PlanClaimed):
        file.take(TWO, judge)
    assert judgements == [1, 2]
    first.check()


def test_one_that_is_given_back_while_it_is_judged_is_taken_as_nobodys() -> None:
    file = a_file()
    first = taken(file)

    def judge(claim: Claim) -> Standing:
        first.release()
        return free(claim)

    _, because = file.take(TWO, judge)
    assert because is None
    assert file.load() == Claim(TWO, 1, EPOCH)


def test_one_that_changes_while_it_is_given_back_stays() -> None:
    class Racing(InMemoryStorage):
        def delete(self, path: str, *, expected: Version | None = None) -> None:
            raise VersionMismatch(path, expected or Version(""))

    file = a_file(Racing())
    taken(file).release()
    assert file.load() is not None


def test_only_claims_of_that_table_are_listed() -> None:
    storage = InMemoryStorage(clock=lambda: EPOCH)
    taken(ClaimFile(storage, "/lake/other", PLAN))
    file = a_file(storage)
    taken(file, TWO)
    storage.put(f"{file.path}.tmp", b"{")
    assert load_claims(storage, TABLE) == {PLAN: Claim(TWO, 1, EPOCH)}
    assert load_claims(storage, "/lake/none") == {}


def test_a_claim_that_vanishes_between_listing_and_reading_is_none() -> None:
    class Vanishing(InMemoryStorage):
        def read_versioned(self, path: str) -> Content:
            self.delete(path)
            return super().read_versioned(path)

    storage = Vanishing()
    storage.put(a_file(storage).path, b"{}")
    assert load_claims(storage, TABLE) == {}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"number": 1}', b'{"executor": {"job": 1}}'])
def test_a_damaged_claim_gives_nothing_to_anybody(data: bytes) -> None:
    file = a_file()
    claim = taken(file)
    storage = file.storage
    assert isinstance(storage, InMemoryStorage)
    storage.put(file.path, data)
    for act in (
        lambda: file.take(TWO, free),
        claim.check,
        claim.renew,
        claim.release,
        lambda: file.discard(free),
        lambda: load_claims(storage, TABLE),
    ):
        with pytest.raises(InvalidInput):
            act()
    assert storage.read(file.path) == data


# --- removing -------------------------------------------------------------------------------------


def test_only_what_the_dead_left_is_discarded() -> None:
    file = a_file()
    file.discard(not_asked)
    taken(file)
    file.discard(held)
    assert file.load() is not None
    file.discard(free)
    assert file.load() is None


def test_one_that_is_renewed_just_now_is_not_discarded() -> None:
    file = a_file()
    claim = taken(file)

    def judge(seen: Claim) -> Standing:
        claim.renew()
        return free(seen)

    file.discard(judge)
    claim.check()


# --- races, and answers that are lost -------------------------------------------------------------


@pytest.mark.parametrize("is_left", [False, True])
def test_of_many_takers_one_gets_it(is_left: bool) -> None:  # noqa: FBT001
    takers = [an_executor(number) for number in range(2, 10)]
    for _ in range(20):
        file = a_file()
        if is_left:
            taken(file, ONE)
        start = threading.Barrier(len(takers))

        def take(
            executor: Executor, file: ClaimFile = file, start: threading.Barrier = start
        ) -> bool:
            def judge(claim: Claim) -> Standing:
                return free(claim) if claim.executor == ONE else held(claim)

            start.wait(timeout=30)
            with suppress(PlanClaimed):
                file.take(executor, judge)[0].check()
                return True
            return False

        with ThreadPoolExecutor(len(takers)) as pool:
            won = list(pool.map(take, takers))
        assert won.count(True) == 1
        winner = file.load()
        assert winner is not None
        assert winner.executor == takers[won.index(True)]


class Losing(InMemoryStorage):
    """Loses the answer of the next write; the write itself is done, or is not."""

    def __init__(self, *, is_done: bool) -> None:
        super().__init__(clock=lambda: EPOCH)
        self._is_done = is_done
        self.loses = False

    def create(self, path: str, data: bytes) -> Version:
        return self._lost(path, lambda: super(Losing, self).create(path, data))

    def replace(self, path: str, data: bytes, *, expected: Version) -> Version:
        return self._lost(path, lambda: super(Losing, self).replace(path, data, expected=expected))

    def delete(self, path: str, *, expected: Version | None = None) -> None:
        self._lost(path, lambda: super(Losing, self).delete(path, expected=expected))

    def _lost(self, path: str, write: Callable[[], object]) -> Version:
        loses, self.loses = self.loses, False
        answer = write() if self._is_done or not loses else None
        if loses:
            raise OutcomeUnknown(path, "no answer")
        return answer  # type: ignore[return-value]


@pytest.fixture(params=[True, False], ids=["done", "not done"])
def losing(request: pytest.FixtureRequest) -> Losing:
    return Losing(is_done=request.param)


def test_a_first_claim_without_an_answer_is_looked_at_again(losing: Losing) -> None:
    losing.loses = True
    claim = taken(a_file(losing))
    claim.check()
    claim.renew()
    assert a_file(losing).load() == Claim(ONE, 2, EPOCH)


def test_a_takeover_without_an_answer_is_still_a_takeover(losing: Losing) -> None:
    """Who takes over has to wait for the last heartbeat of the dead; so it must know."""
    taken(a_file(losing), TWO)
    losing.loses = True
    claim, because = a_file(losing).take(ONE, free)
    assert because == "so it was judged"
    claim.check()
    claim.renew()
    assert a_file(losing).load() == Claim(ONE, 3, EPOCH)


def test_a_renewal_without_an_answer_is_no_loss(losing: Losing) -> None:
    claim = taken(a_file(losing))
    losing.loses = True
    claim.renew()
    claim.check()
    claim.renew()
    assert a_file(losing).load() in (Claim(ONE, 2, EPOCH), Claim(ONE, 3, EPOCH))


def test_a_renewal_without_an_answer_of_one_that_was_taken_over_is_a_loss(losing: Losing) -> None:
    claim = taken(a_file(losing))
    a_file(losing).take(TWO, free)
    losing.loses = True
    with pytest.raises(ClaimLost):
        claim.renew()


def test_a_release_without_an_answer_costs_the_job_nothing(losing: Losing) -> None:
    claim = taken(a_file(losing))
    losing.loses = True
    claim.release()
    losing.loses = True
    a_file(losing).discard(free)


def test_what_a_storage_cannot_do_comes_out_as_it_is() -> None:
    class Broken(InMemoryStorage):
        def create(self, path: str, data: bytes) -> Version:
            raise PermissionError(path)

    with pytest.raises(PermissionError):
        a_file(Broken()).take(ONE, not_asked)


def test_creating_twice_is_refused_by_the_storage() -> None:
    """What all of this rests on."""
    file = a_file()
    taken(file)
    with pytest.raises(ObjectExists):
        file.storage.create(file.path, b"")
