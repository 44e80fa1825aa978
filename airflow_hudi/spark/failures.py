# SPDX-License-Identifier: Apache-2.0
"""What an exception in the driver means to the person who reads the report."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_hudi.core.errors import AirflowHudiError

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Explained:
    """An error's kind, its sentence, and whether trying again may help."""

    kind: str
    message: str
    retryable: bool


_WRAPPER = "InvocationTargetException"  # of a call that was made by its name; says nothing itself
# By the simple name of a Java class. What is not here is retried: most failures of a cluster pass.
_NOT_WORTH_RETRYING = frozenset(
    {
        "AnalysisException",
        "ExtendedAnalysisException",
        "ParseException",
        "HoodieKeyException",
        "HoodieNotSupportedException",
        "HoodieSchemaEvolutionConflictException",
        "HoodieUpgradeDowngradeException",
        "HoodieValidationException",
        "MissingSchemaFieldException",
        "SchemaBackwardsCompatibilityException",
        "SchemaCompatibilityException",
    }
)


def explained(error: BaseException) -> Explained:
    """The error in words for the report: ours as they are, Java's by the cause that says most."""
    if isinstance(error, AirflowHudiError):
        return Explained(type(error).__name__, str(error), error.retryable)
    causes = _java_causes(error)
    if causes:
        return _from_java(causes)
    kind = type(error).__name__
    retryable = kind not in _NOT_WORTH_RETRYING and not isinstance(error, (TypeError, ValueError))
    return Explained(kind, _shortened(f"{kind}: {error}"), retryable)


def _from_java(causes: list[tuple[str, str]]) -> Explained:
    lines = list(dict.fromkeys(_line(*cause) for cause in causes if cause[1]))
    deciding = [cause for cause in causes if cause[0] in _NOT_WORTH_RETRYING]
    if not deciding:
        kind = causes[0][0]
        return Explained(kind, _shortened(" ← ".join(lines) or kind), retryable=True)
    decides = deciding[-1]  # the innermost says most
    rest = " ← ".join(line for line in lines if line != _line(*decides))
    said = f"{_line(*decides)} ({rest})" if rest else _line(*decides)
    return Explained(decides[0], _shortened(said), retryable=False)


def _line(name: str, message: str) -> str:
    return f"{name}: {message.splitlines()[0]}" if message else name


def _java_causes(error: BaseException) -> list[tuple[str, str]]:
    """From the outermost exception to the innermost: simple name and message."""
    throwable = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    causes: list[tuple[str, str]] = []
    while throwable is not None and len(causes) < 10:
        message = throwable.getMessage() or ""
        name = str(throwable.getClass().getSimpleName())
        if name != _WRAPPER:
            causes.append((name, str(message).strip()))
        throwable = throwable.getCause()
    return causes


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
