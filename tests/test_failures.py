# SPDX-License-Identifier: Apache-2.0
"""An exception in the driver as a sentence: the cause that decides comes first."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from airflow_hudi.core.engine_errors import WriteConflict
from airflow_hudi.spark.failures import Explained, explained


@dataclass(frozen=True)
class JavaClass:
    """The little of a Java class that is asked for."""

    name: str

    def getSimpleName(self) -> str:  # noqa: N802 - Java's
        return self.name


@dataclass(frozen=True)
class Throwable:
    """A Java exception and its cause."""

    name: str
    message: str | None = None
    cause: Throwable | None = None

    def getClass(self) -> JavaClass:  # noqa: N802 - Java's
        return JavaClass(self.name)

    def getMessage(self) -> str | None:  # noqa: N802 - Java's
        return self.message

    def getCause(self) -> Throwable | None:  # noqa: N802 - Java's
        return self.cause


class FromJava(Exception):
    """As py4j raises it."""

    def __init__(self, *causes: tuple[str, str | None]) -> None:
        super().__init__()
        throwable = None
        for name, message in reversed(causes):
            throwable = Throwable(name, message, throwable)
        self.java_exception = throwable


NULL_KEY = 'recordKey value: "null" for field: "id" cannot be null or empty.'


def test_the_cause_that_decides_comes_first_and_the_rest_after_it() -> None:
    error = FromJava(
        ("HoodieUpsertException", "Failed to upsert for commit time 2026"),
        ("SparkException", "Job aborted due to stage failure\nDriver stacktrace:"),
        ("HoodieKeyException", NULL_KEY),
        ("RuntimeException", "in the last place"),
    )
    assert explained(error) == Explained(
        "HoodieKeyException",
        f"HoodieKeyException: {NULL_KEY} (HoodieUpsertException: Failed to upsert for commit time"
        " 2026 ← SparkException: Job aborted due to stage failure ← RuntimeException: in the last"
        " place)",
        retryable=False,
    )


def test_of_several_that_decide_the_innermost_says_most() -> None:
    error = FromJava(("AnalysisException", "it failed"), ("ParseException", "near 'selct'"))
    said = explained(error)
    assert said.kind == "ParseException"
    assert said.message == "ParseException: near 'selct' (AnalysisException: it failed)"


def test_a_cause_alone_is_its_own_sentence() -> None:
    assert explained(FromJava(("ParseException", "near 'selct'"))).message == (
        "ParseException: near 'selct'"
    )
    assert explained(FromJava(("HoodieKeyException", None))).message == "HoodieKeyException"


def test_where_nothing_decides_the_chain_is_told_from_without_to_within() -> None:
    error = FromJava(
        ("HoodieException", "it failed"),
        ("InvocationTargetException", None),
        ("HoodieException", "it failed"),
        ("IOException", "connection reset"),
    )
    assert explained(error) == Explained(
        "HoodieException",
        "HoodieException: it failed ← IOException: connection reset",
        retryable=True,
    )


@pytest.mark.parametrize(
    "name",
    [
        "MissingSchemaFieldException",
        "SchemaCompatibilityException",
        "SchemaBackwardsCompatibilityException",
        "HoodieKeyException",
    ],
)
def test_what_the_same_rows_will_meet_again_is_not_worth_retrying(name: str) -> None:
    said = explained(FromJava(("HoodieUpsertException", "it failed"), (name, "no")))
    assert (said.kind, said.retryable) == (name, False)


def test_errors_of_ours_and_pythons_are_told_as_they_are() -> None:
    conflict = WriteConflict("/lake/orders", "same files")
    assert explained(conflict) == Explained("WriteConflict", str(conflict), retryable=True)
    assert explained(OSError("disk full")).retryable
    assert explained(ValueError("no")) == Explained("ValueError", "ValueError: no", retryable=False)
