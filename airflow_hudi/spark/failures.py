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
    names = [name for name, _ in causes]
    retryable = not any(name in _NOT_WORTH_RETRYING for name in names)
    lines = dict.fromkeys(
        f"{name}: {message.splitlines()[0]}" for name, message in causes if message
    )
    return Explained(names[0], _shortened(" ← ".join(lines) or names[0]), retryable)


def _java_causes(error: BaseException) -> list[tuple[str, str]]:
    """From the outermost exception to the innermost: simple name and message."""
    throwable = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    causes: list[tuple[str, str]] = []
    while throwable is not None and len(causes) < 10:
        message = throwable.getMessage() or ""
        causes.append((str(throwable.getClass().getSimpleName()), str(message).strip()))
        throwable = throwable.getCause()
    return causes


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
