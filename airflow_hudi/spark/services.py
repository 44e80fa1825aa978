# SPDX-License-Identifier: Apache-2.0
"""RFC-79's guarded execution in the driver: plan, claim, guard, execute, look again, commit.

The decision is in ``core/services/guard``; these are its effects, step by step as in the RFC:

1. get the plan, and claim it (ours: heartbeats detect, they do not fence)
2. to 6. under the table's lock: load the timeline, the guard, a heartbeat
7. execute, without the commit
   commit, under the lock: still our claim, still our plan, still our files (ours, too)
8. remove the heartbeat, and give the claim back
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from airflow_hudi.core.claims import ClaimLost, HeldClaim
from airflow_hudi.core.heartbeat import Heartbeat, heartbeat_policy
from airflow_hudi.core.ingestion import JOB_METADATA_KEY
from airflow_hudi.core.instants import Instant, InstantTime, State
from airflow_hudi.core.job_errors import JobSuperseded, PlanNotFound
from airflow_hudi.core.jobs import JobReport, PlanSize
from airflow_hudi.core.plans import decode_plan, load_plan
from airflow_hudi.core.services.choice import (
    Execute,
    MakePlan,
    NothingToDo,
    PlanInUse,
    PlanRefused,
    Replan,
    choose,
)
from airflow_hudi.core.services.guard import Done, MayExecute, Reason, Refuse, Verdict, guard
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.triggers import why_no_plan
from airflow_hudi.core.services.view import ServicesView, load_view
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.core.verdicts import load_evidence, plan_size
from airflow_hudi.core.versions import Ability, release
from airflow_hudi.spark.claiming import Claimed, claimed, claims_on
from airflow_hudi.spark.clients import service_client
from airflow_hudi.spark.engine.protocol import Executed, TableClient
from airflow_hudi.spark.rollbacks import carry_out_for_execution, roll_back

if TYPE_CHECKING:
    from airflow_hudi.spark.runner import Job

_PAUSE = 0.5
_SPARE = timedelta(seconds=5)


def serve(job: Job) -> JobReport:
    """Make a plan of a service, carry one out, or both."""
    work = job.spec.work
    if not isinstance(work, ServiceWork):
        raise TypeError(f"this script runs table services; {work.KIND} has a script of its own")
    table = open_table(job.spec.table)
    choice = choose(work, _view(table, work), claims=claims_on(job))
    if isinstance(choice, NothingToDo):
        return job.nothing_to_do(choice.because, instant=choice.instant)
    with service_client(job, work, table) as client:
        run = _Run(job, client, table, work)
        if work.dry_run:
            return run.preview(choice)
        if isinstance(choice, Execute):
            return run.execute(choice.instant)
        if isinstance(choice, Replan):
            return run.replan(choice.instant)
        return run.plan()


def _view(table: Table, work: ServiceWork) -> ServicesView:
    return load_view(table, heartbeat_policy(work.options))


class _Run:
    """One service job on one table."""

    def __init__(self, job: Job, client: TableClient, table: Table, work: ServiceWork) -> None:
        self._job = job
        self._client = client
        self._table = table
        self._work = work
        self._service = work.service
        self._notes: tuple[str, ...] = ()

    # --- plan ----------------------------------------------------------------------------------

    def plan(self) -> JobReport:
        """Let Hudi make a plan, and execute it if that was asked for."""
        job, noun = self._job, self._service.noun
        job.say(f"planning a {noun} of {job.spec.table}")
        job.check_seat()
        extra = {JOB_METADATA_KEY: str(job.spec.key)}
        time = self._client.schedule(self._service, extra=extra)
        if time is None:
            view = _view(self._table, self._work)
            return job.nothing_to_do(why_no_plan(view, self._work.policy), notes=self._notes)
        planned = self._planned(time)
        if self._work.mode is not Mode.SCHEDULE:
            return self.execute(planned)
        size = self._size(planned)
        return self._done(f"{noun} {time} scheduled: {size}", planned, size)

    def preview(self, choice: Execute | MakePlan | Replan) -> JobReport:
        """What would be done, by the plan itself; nothing is written."""
        noun = self._service.noun
        if isinstance(choice, Execute):
            size = self._size(choice.instant)
            return self._done(f"dry run: would execute {noun} {size}", choice.instant, size)
        text = self._client.preview(self._service)
        if text is None:
            view = _view(self._table, self._work)
            return self._job.nothing_to_do(why_no_plan(view, self._work.policy))
        plan = decode_plan(self._service.action, text.encode())
        size = plan_size(plan)
        self._job.say(f"the plan would be: {plan}")
        undo = f"roll back {choice.instant}, then " if isinstance(choice, Replan) else ""
        return self._job.done(f"dry run: would {undo}plan a {noun}: {size}", plan=size)

    def replan(self, instant: Instant) -> JobReport:
        """Roll back a plan that was begun and is not executed again, and plan anew."""
        job, old = self._job, instant.requested_at
        with claimed(job, old) as held:
            self._await_the_dead(instant, held)
            beats = heartbeat_policy(self._work.options)
            undone = roll_back(job, self._client, self._table, held.claim, beats)
        said = (
            f"{self._service.noun} {old} was left half-way and is rolled back ({undone.rollback})"
        )
        job.say(said)
        self._notes = (*self._notes, said)
        return self.plan()

    # --- execute -------------------------------------------------------------------------------

    def execute(self, instant: Instant) -> JobReport:
        """Carry a plan out, as its one executor."""
        job, noun, time = self._job, self._service.noun, instant.requested_at
        size = self._size(instant)
        job.say(f"executing {noun} {time}: {size}")
        job.check_seat()
        with claimed(job, time) as held:
            verdict = self._pass_guard(instant, held)
            if isinstance(verdict, Done):
                done = f"{noun} {time} was completed at {verdict.at}"
                return job.nothing_to_do(done, instant=time, notes=self._notes)
            try:
                if verdict.undoes:
                    self._undo(instant)
                executed = self._client.execute(self._service, time)
                job.say(f"{len(executed.files)} files are written, committing")
                self._client.commit(executed, check=lambda: self._check(held.claim, executed))
            except BaseException as error:
                if not (job.beating.is_told_to_stop or _has_successor(error)):  # else Java goes on
                    self._client.stop_heartbeat(time)
                raise
            self._client.stop_heartbeat(time)
        return self._done(f"{noun} {time} executed: {size}", instant, size)

    def _undo(self, instant: Instant) -> None:
        """Hudi rolls back what is inflight by itself, and only that."""
        self._job.say(f"{instant.requested_at} was begun before; that is rolled back first")
        view = _view(self._table, self._work)
        pending = view.rollback_of(instant.requested_at)
        if pending is not None and instant.state is State.REQUESTED:
            carry_out_for_execution(self._client, pending)

    def _pass_guard(self, instant: Instant, held: Claimed) -> MayExecute | Done:
        """The RFC's steps 2 to 6; a heartbeat of the dead whose claim we took is waited for."""
        self._await_the_dead(instant, held)
        with self._client.lock():
            # Not only looked at: nobody may take it over between this and our first step.
            held.claim.renew()
            verdict = self._verdict(instant.requested_at)
            if isinstance(verdict, Refuse):
                raise self._refusal(instant.requested_at, verdict)
            if isinstance(verdict, MayExecute) and not self._hudi_beats():
                self._client.start_heartbeat(instant.requested_at)
        if not isinstance(verdict, (MayExecute, Done)):  # the claim is ours
            raise TypeError(f"a verdict that cannot be: {verdict}")
        return verdict

    def _verdict(self, time: InstantTime) -> Verdict:
        return guard(_view(self._table, self._work), self._service, time, self._work.rollback)

    def _refusal(self, time: InstantTime, refused: Refuse) -> Exception:
        if refused.beat is not None:
            return PlanInUse(self._service, time, refused.beat.last_beat)
        if refused.reason not in (Reason.GONE, Reason.NO_PLAN):
            return PlanRefused(self._service, time, because=refused.reason.value)
        return PlanNotFound(self._table.uri, time, because=refused.reason.value)

    def _hudi_beats(self) -> bool:
        """Hudi's own guard beats for a compaction, and takes a beat of ours for a stranger's."""
        has_guard = release(self._job.spec.release).can(Ability.COMPACTION_GUARD)
        return self._service is Service.COMPACTION and has_guard

    def _await_the_dead(self, instant: Instant, held: Claimed) -> None:
        """The heartbeat of an executor that is proved dead stays for a while: let it expire.

        One that is renewed meanwhile is somebody else's: the guard will see it.
        """
        if not held.taken_over:
            return
        first: Heartbeat | None = None
        while True:
            view = _view(self._table, self._work)
            beat = view.live_beat(instant)
            if beat is None or (first is not None and beat != first):
                return
            if first is None:
                until = view.signs.expires_at(beat)
                self._job.say(
                    f"waiting until {until:%H:%M:%S} UTC for the last heartbeat of the dead"
                )
            first = beat
            if datetime.now(tz=timezone.utc) > view.signs.expires_at(beat) + _SPARE:
                return
            time.sleep(_PAUSE)

    def _check(self, claim: HeldClaim, executed: Executed) -> None:
        """Under the table's lock, the last moment: may this still be committed?"""
        self._job.check_seat()
        claim.check()
        view = _view(self._table, self._work)
        time = InstantTime(executed.instant)
        instant = view.timeline.find(time)
        if instant is None or instant.state is not State.INFLIGHT:
            state = "gone" if instant is None else instant.state.value
            raise self._superseded(f"{time} is {state}: somebody else has ended it")
        undoing = view.rollback_of(time)
        if undoing is not None:
            raise self._superseded(f"rollback {undoing.instant.requested_at} is to undo {time}")
        gone = _missing(self._table, executed.files)
        if gone:
            raise self._superseded(
                f"{gone[0]}, written for {time}, is gone: somebody else executes this plan"
            )

    def _superseded(self, because: str) -> JobSuperseded:
        return JobSuperseded(str(self._job.spec.key), because=because)

    # --- facts ---------------------------------------------------------------------------------

    def _planned(self, time: str) -> Instant:
        """The plan as the timeline has it: an answer of Hudi's alone is not enough."""
        view = _view(self._table, self._work)
        planned = view.of(self._service).find(InstantTime(time))
        if planned is None:
            because = "Hudi said that it was scheduled, and the timeline does not show it"
            raise PlanNotFound(self._table.uri, time, because=because)
        return planned

    def _size(self, instant: Instant) -> PlanSize | None:
        view = _view(self._table, self._work)
        return plan_size(load_plan(self._table, view.timeline, instant))

    def _done(self, said: str, instant: Instant, size: PlanSize | None) -> JobReport:
        time = instant.requested_at
        executed = ServiceWork(self._work.policy, Mode.EXECUTE, time)
        evidence = load_evidence(self._table.storage, executed, str(self._job.spec.key))
        rows = None if evidence is None else evidence.rows
        return self._job.done(said, instant=time, plan=size, rows=rows, notes=self._notes)


def _has_successor(error: BaseException) -> bool:
    """Whether the heartbeat on the plan may be somebody else's by now."""
    return isinstance(error, ClaimLost) and error.holder is not None


def _missing(table: Table, files: tuple[str, ...]) -> list[str]:
    """Those of the files that are not there."""
    folders = {path.rpartition("/")[0] for path in files}
    there = {file.path for folder in folders for file in table.storage.list_folder(folder).files}
    return [path for path in files if path not in there]
