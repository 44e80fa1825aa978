# SPDX-License-Identifier: Apache-2.0
"""What an answer of S3, or the lack of one, says about a conditional request.

A conditional write that is sent twice may succeed the first time and be refused the second, by its
own effect. So nothing is repeated blindly: as long as an earlier attempt may have taken effect, the
object is looked at, and what is seen there decides.

botocore is imported inside functions, because a machine without it may load this package.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_hudi.core.errors import ConcurrencyError, OutcomeUnknown, StorageError
from airflow_hudi.core.storage.base import Version

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

T = TypeVar("T")

_NOT_APPLIED = frozenset(
    {
        "ConditionalRequestConflict",  # 409: another conditional write of this object is running
        "OperationAborted",  # 409, as older servers say it
        "RequestTimeout",  # 400: the body did not arrive in time
        "SlowDown",  # 503: throttled before anything was done
    }
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to go on with one request: a pause before each repetition, in seconds."""

    pauses: tuple[float, ...] = (0.1, 0.4, 1.6)
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at an object shows."""

    version: Version
    token: str | None


class Trace(Enum):
    """What a look at the object says about attempts without a clear answer."""

    OURS = "one of them took effect"
    UNTOUCHED = "all is as before, so the same request may be sent again"
    LOST = "the object was changed, by us or by somebody else"


class Verdict(Enum):
    """What one failed attempt means."""

    REFUSED = "the condition does not hold"
    NOT_APPLIED = "nothing happened; once more may help"
    UNCLEAR = "it may or may not have happened"
    FAILED = "nothing happened; once more will not help"


@dataclass(frozen=True, slots=True)
class Change:
    """One conditional request, and how to tell afterwards whether it took effect."""

    path: str
    send: Callable[[], Version]
    look: Callable[[], Found | None]
    trace: Callable[[Found | None], Trace]
    refused: ConcurrencyError
    refusals: frozenset[int]
    """The HTTP statuses by which the server says that the condition does not hold."""


def carry_out(change: Change, patience: Patience, *, sent_once: bool) -> Version:
    """Send the request until its outcome is certain, or raise :class:`OutcomeUnknown`.

    ``sent_once`` says that the client repeats nothing by itself: one failure is one attempt.
    """
    pauses = iter(patience.pauses)
    doubt = False
    while True:
        outcome = attempt(change.send)
        if not isinstance(outcome, Exception):
            return outcome
        verdict = judge(outcome, change.refusals, sent_once=sent_once)
        doubt = doubt or verdict is Verdict.UNCLEAR or (not sent_once and _was_repeated(outcome))
        if doubt and (found := _own_effect(change, outcome)) is not None:
            return found.version
        pause = next(pauses, None)
        if pause is None or verdict in (Verdict.REFUSED, Verdict.FAILED):
            raise _end(change, verdict, outcome, doubt=doubt) from outcome
        patience.sleep(pause)


def _own_effect(change: Change, outcome: Exception) -> Found | None:
    """What we wrote, or nothing if the object is as before; raises when that cannot be told."""
    try:
        found = change.look()
    except StorageError as error:
        because = f"{describe(outcome)}, and looking at it failed too"
        raise OutcomeUnknown(change.path, because) from error
    trace = change.trace(found)
    if trace is Trace.LOST:
        raise OutcomeUnknown(change.path, f"{describe(outcome)}; {trace.value}") from outcome
    return found if trace is Trace.OURS else None


def _end(change: Change, verdict: Verdict, outcome: Exception, *, doubt: bool) -> Exception:
    if doubt:
        return OutcomeUnknown(change.path, f"{describe(outcome)}, after an attempt in doubt")
    return change.refused if verdict is Verdict.REFUSED else failure(change.path, outcome)


def attempt(send: Callable[[], T]) -> T | Exception:
    """The answer, or what botocore raised instead, as a value."""
    try:
        return send()
    except sdk_errors() as error:
        return error


def sdk_errors() -> tuple[type[Exception], ...]:
    """Everything botocore raises for a request that did not work."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - optional package
    from botocore.parsers import ResponseParserError  # noqa: PLC0415 - optional package

    return (BotoCoreError, ClientError, ResponseParserError)


def judge(error: Exception, refusals: frozenset[int], *, sent_once: bool) -> Verdict:
    """What a failed attempt means for a request that is refused with these statuses."""
    from botocore import exceptions as sdk  # noqa: PLC0415 - optional package
    from botocore.parsers import ResponseParserError  # noqa: PLC0415 - optional package

    if isinstance(error, sdk.ClientError):
        return _judge_answer(status_of(error), code_of(error), refusals)
    no_connection = (sdk.EndpointConnectionError, sdk.ConnectTimeoutError, sdk.ProxyConnectionError)
    if sent_once and isinstance(error, no_connection):
        return Verdict.NOT_APPLIED
    if isinstance(error, (sdk.ConnectionError, sdk.HTTPClientError, ResponseParserError)):
        return Verdict.UNCLEAR
    return Verdict.FAILED  # no credentials, invalid parameters: nothing was sent


def _judge_answer(status: int, code: str, refusals: frozenset[int]) -> Verdict:
    if status in refusals and code != "NoSuchBucket":
        return Verdict.REFUSED
    if code in _NOT_APPLIED:
        return Verdict.NOT_APPLIED
    return Verdict.UNCLEAR if status >= 500 and status != 501 else Verdict.FAILED


def is_missing(error: Exception) -> bool:
    """Whether the server said that there is no such object."""
    return status_of(error) == 404 and code_of(error) != "NoSuchBucket"


def status_of(error: Exception) -> int:
    """The HTTP status of an answer; 0 when there was no answer."""
    return int(_answer(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def code_of(error: Exception) -> str:
    """S3's own word for what is wrong; empty when there was no answer."""
    return str(_answer(error).get("Error", {}).get("Code", ""))


def _was_repeated(error: Exception) -> bool:
    return int(_answer(error).get("ResponseMetadata", {}).get("RetryAttempts", 0)) > 0


def _answer(error: Exception) -> dict[str, Any]:
    answer = getattr(error, "response", None)  # botocore's connection errors have one that is None
    return answer if isinstance(answer, dict) else {}


def sends_once(client: S3Client) -> bool:
    """Whether botocore's own retries are off in this client."""
    # botocore sets its options on the config at run time; the stubs know none of them.
    retries: dict[str, Any] = getattr(client.meta.config, "retries", None) or {}
    return retries.get("total_max_attempts") == 1


def failure(path: str, error: Exception) -> StorageError:
    """The error for a request that is known to have changed nothing."""
    hint = ""
    if status_of(error) == 403:
        hint = " (check the credentials; without s3:ListBucket, S3 says so of a missing object too)"
    if status_of(error) == 501:
        hint = " (conditional writes are needed; this server does not offer them)"
    failed = StorageError(f"S3 did not serve {path or 'the root'}: {describe(error)}{hint}")
    verdict = judge(error, frozenset(), sent_once=False)
    failed.retryable = verdict in (Verdict.NOT_APPLIED, Verdict.UNCLEAR)
    return failed


def describe(error: Exception) -> str:
    """The failure in a few words; never the SDK's sentence, which may quote keys and addresses."""
    if code := code_of(error):
        return f"{status_of(error)} {code}"
    return type(error).__name__
