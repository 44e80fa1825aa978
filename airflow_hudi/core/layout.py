# SPDX-License-Identifier: Apache-2.0
"""How instants are written as file names: timeline layouts 1 (0.x tables) and 2 (1.x tables).

The layout is decided once, from the table's properties; all that comes after is blind to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from airflow_hudi.core.instants import Action, Instant, InstantTime, State
from airflow_hudi.core.storage.base import file_name

METADATA_FOLDER = ".hoodie"


class Layout(IntEnum):
    """The two ways a timeline is stored."""

    V1 = 1
    V2 = 2


@dataclass(frozen=True, slots=True)
class InstantFile:
    """One file of a timeline: which instant it speaks of, and in which state."""

    path: str
    instant: Instant
    size: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return file_name(self.path)

    @property
    def is_legacy(self) -> bool:
        """Whether it is a completed file of layout 1's naming (its content is JSON)."""
        return self.instant.state is State.COMPLETED and "_" not in self.name


_NAME = {
    Layout.V1: re.compile(r"(?P<requested>[0-9]+)\.(?P<first>\w+)(?:\.(?P<second>\D+))?", re.ASCII),
    Layout.V2: re.compile(
        r"(?P<requested>[0-9]+)(?:_(?P<completed>[0-9]+))?\.(?P<first>\w+)(?:\.(?P<second>\D+))?",
        re.ASCII,
    ),
}

_INFLIGHT_COMMIT = "inflight"
_STATES = {state.value: state for state in State}
_ACTIONS = {action.value: action for action in Action}

_PENDING_ONLY = frozenset({Action.COMPACTION, Action.LOGCOMPACTION, Action.CLUSTERING})
_NEVER_WRITTEN = frozenset(
    {
        (Action.COMMIT, State.INFLIGHT),  # written as <instant>.inflight
        (Action.SAVEPOINT, State.REQUESTED),  # a savepoint starts inflight
        *((action, State.COMPLETED) for action in _PENDING_ONLY),
    }
)


def parse_name(layout: Layout, name: str) -> Instant | None:
    """The instant a file name speaks of, or None when Hudi would not take it for one.

    A completed file of layout 1, and one of layout 2 without a completion time, leaves
    ``completed_at`` open: only the file's modification time knows it.
    """
    match = _NAME[layout].fullmatch(name)
    if match is None:
        return None
    state_and_action = _state_and_action(layout, match["first"], match["second"])
    if state_and_action is None:
        return None
    state, action = state_and_action
    completed = match.groupdict().get("completed") if state is State.COMPLETED else None
    return Instant(
        requested_at=InstantTime(match["requested"]),
        action=action,
        state=state,
        completed_at=None if completed is None else InstantTime(completed),
    )


def format_name(layout: Layout, instant: Instant) -> str:
    """The file name of an instant; the inverse of :func:`parse_name`."""
    requested = instant.requested_at
    action = instant.action.value
    if instant.state is State.COMPLETED:
        dated = layout is Layout.V2 and instant.completed_at is not None
        return f"{requested}_{instant.completed_at}.{action}" if dated else f"{requested}.{action}"
    if instant.action is Action.COMMIT and instant.state is State.INFLIGHT:
        return f"{requested}.{_INFLIGHT_COMMIT}"
    return f"{requested}.{action}.{instant.state.value}"


def comparable_action(layout: Layout, action: Action) -> Action:
    """The action under which the states of one instant are grouped."""
    if layout is Layout.V1 and action is Action.CLUSTERING:
        return action
    return action.completes_as


def _state_and_action(
    layout: Layout, first: str, second: str | None
) -> tuple[State, Action] | None:
    if first == _INFLIGHT_COMMIT and second is None:
        return State.INFLIGHT, Action.COMMIT
    action = _ACTIONS.get(first)
    state = State.COMPLETED if second is None else _STATES.get(second)
    if action is None or state is None or second == State.COMPLETED.value:
        return None
    if (action, state) in _NEVER_WRITTEN:
        return None
    if layout is Layout.V1 and action is Action.CLUSTERING:
        return None
    return state, action
