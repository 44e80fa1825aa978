# SPDX-License-Identifier: Apache-2.0
"""RFC-79 in every order: two executors and a cleaner on one plan, crashes, sleepers, time.

All worlds that can be reached are visited, and what must hold is looked at in each step; from each
of them a last executor and a last cleaner must find a way out. The steps are in
``service_worlds``; the code under test answers through ``service_reality``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_hudi.core import claims
from airflow_hudi.core.claims import Claim, ClaimFile, Executor, Free, HeldClaim
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.storage.base import Version
from airflow_hudi.core.storage.memory import InMemoryStorage
from tests.core import service_worlds
from tests.core.service_reality import COMPLETED, GONE, INFLIGHT, ClaimState, Rules
from tests.core.service_worlds import (
    DEAD,
    EARLIER,
    ENDED,
    LEVELS,
    RESCUER,
    Steps,
    World,
    all_worlds,
    check_step,
    jump,
)

FRESH = World()
LEFT_BEHIND = World(plan=INFLIGHT, files=frozenset({EARLIER}), beat=0, claim=ClaimState(EARLIER))
BEING_UNDONE = LEFT_BEHIND._replace(rollback=frozenset({EARLIER}))
COMPACTION = Rules(Service.COMPACTION)
CLUSTERING = Rules(Service.CLUSTERING)
SILENT_COMPACTION = replace(COMPACTION, hosts_answer=False)
SILENT_CLUSTERING = replace(CLUSTERING, hosts_answer=False)


@pytest.mark.parametrize(
    ("rules", "first", "at_least", "ends"),
    [
        pytest.param(COMPACTION, FRESH, 2_500, {COMPLETED}, id="compaction"),
        pytest.param(COMPACTION, LEFT_BEHIND, 2_500, {COMPLETED}, id="compaction-left"),
        pytest.param(COMPACTION, BEING_UNDONE, 2_500, {COMPLETED}, id="compaction-being-undone"),
        pytest.param(SILENT_COMPACTION, LEFT_BEHIND, 2_500, {COMPLETED}, id="compaction-no-word"),
        pytest.param(CLUSTERING, FRESH, 25_000, {COMPLETED, GONE}, id="clustering"),
        pytest.param(CLUSTERING, LEFT_BEHIND, 8_000, {GONE}, id="clustering-left"),
        pytest.param(SILENT_CLUSTERING, LEFT_BEHIND, 6_000, {GONE}, id="clustering-no-word"),
    ],
)
def test_in_every_order_a_plan_is_committed_once_and_nothing_is_lost(
    rules: Rules, first: World, at_least: int, ends: set[str]
) -> None:
    steps = Steps(rules)
    worlds = all_worlds(first, steps)
    assert len(worlds) > at_least
    wrecks = {all_dead(world) for world in worlds}
    assert {left_to_itself(wreck, steps).plan for wreck in wrecks} == ends


def all_dead(world: World) -> World:
    """Everybody crashes."""
    crashed = tuple(service_worlds.Executor(DEAD) for _ in world.executors)
    return world._replace(executors=crashed, cleaner=DEAD)


def left_to_itself(world: World, steps: Steps) -> World:
    """Time passes, a last executor comes until it has nothing to do, and then a last cleaner."""
    world = jump(world, LEVELS[-1], (), steps.real)
    assert world.lock is None
    world = world._replace(executors=(*world.executors, service_worlds.Executor()))
    for _ in range(40):
        before = world
        world = steps.of_executor(world, RESCUER)
        check_step(before, world)
        if world.executors[-1].at == ENDED:
            break
        if world == before:
            world = jump(world, LEVELS[-1], (), steps.real)
    assert world.executors[-1].at == ENDED, "something blocks for ever"
    assert world.claim is None
    return _cleaned(world, steps)


def _cleaned(world: World, steps: Steps) -> World:
    world = world._replace(cleaner="look")
    for _ in range(5):
        before, world = world, steps.of_cleaner(world)
        check_step(before, world)
        if world.cleaner == "look":
            break
    assert (world.cleaner, world.lock, world.rollback) == ("look", None, None)
    return world


# --- the search finds what is broken --------------------------------------------------------------

Breakage = Callable[[pytest.MonkeyPatch], None]


def no_claims(patch: pytest.MonkeyPatch) -> None:
    def take(
        self: ClaimFile, executor: Executor, _: Callable[[Claim], claims.Standing]
    ) -> tuple[HeldClaim, None]:
        claim = Claim(executor)
        assert isinstance(self.storage, InMemoryStorage)
        return HeldClaim(self, claim, self.storage.put(self.path, claims._data(claim))), None

    patch.setattr(ClaimFile, "take", take)
    patch.setattr(HeldClaim, "check", lambda _: None)
    patch.setattr(HeldClaim, "renew", lambda _: None)
    patch.setattr(claims, "load_claims", lambda *_: {})


def no_proof_of_death(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claims, "judge_claim", lambda *_, **__: Free("whatever it is"))


def no_conditional_writes(patch: pytest.MonkeyPatch) -> None:
    def replace_any(self: InMemoryStorage, path: str, data: bytes, *, expected: Version) -> Version:
        return self.put(path, data)

    patch.setattr(InMemoryStorage, "replace", replace_any)


def as_it_is(_: pytest.MonkeyPatch) -> None:
    """The rules alone are broken."""


def without(rules: Rules, *checks: str) -> Rules:
    return replace(rules, checks=rules.checks - {*checks})


LOST = "lost its plan|misses a file"


@pytest.mark.parametrize(
    ("breakage", "rules", "what"),
    [
        pytest.param(no_claims, COMPACTION, "misses a file", id="no claims"),
        pytest.param(no_proof_of_death, COMPACTION, LOST, id="no proof of death"),
        pytest.param(no_conditional_writes, COMPACTION, LOST, id="unconditional writes"),
        pytest.param(as_it_is, without(COMPACTION, "claim"), LOST, id="claim not looked at"),
        pytest.param(
            as_it_is,
            without(COMPACTION, "claim", "files", "inflight"),
            "twice|misses a file",
            id="nothing looked at",
        ),
        pytest.param(
            as_it_is, without(CLUSTERING, "rollback"), "disappeared", id="rollback not looked at"
        ),
        pytest.param(
            as_it_is, replace(CLUSTERING, delay=timedelta()), "a fresh plan", id="no delay"
        ),
        pytest.param(as_it_is, replace(CLUSTERING, has_lock=False), "disapp|misses", id="no lock"),
    ],
)
def test_the_search_finds_a_protocol_that_is_broken(
    breakage: Breakage, rules: Rules, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    breakage(monkeypatch)
    with pytest.raises(AssertionError, match=what):
        all_worlds(FRESH, Steps(rules))


# --- what no protocol around Hudi can close -------------------------------------------------------


@pytest.mark.parametrize("service", [Service.COMPACTION, Service.CLUSTERING])
def test_a_sleep_between_the_guard_and_hudis_first_look_is_not_covered(service: Service) -> None:
    """Hudi rolls back what it finds inflight, whoever is at it; only its own fencing could help."""
    with pytest.raises(AssertionError, match="a completed instant misses a file"):
        all_worlds(FRESH, Steps(Rules(service, naps=True)))


def test_a_guard_that_does_not_renew_the_claim_lets_a_sleeper_in() -> None:
    """It lost its claim before it came to the guard; its successor has not beaten for a while."""
    for rules in (COMPACTION, CLUSTERING):
        with pytest.raises(AssertionError, match=LOST):
            all_worlds(FRESH, Steps(replace(rules, guard_renews=False)))
