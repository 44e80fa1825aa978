# SPDX-License-Identifier: Apache-2.0
"""JSON both ways for our frozen values: dataclasses, enums, times, tuples and mappings of them.

Annotations are the schema. A dataclass that is one of several (a plan, a defect) carries its class
name under ``kind``, so that a union is read back as what it was.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, TypeVar

from airflow_hudi.core.errors import InvalidInput

T = TypeVar("T")
JsonValue = typing.Union[
    None, bool, int, float, str, "list[JsonValue]", "dict[str, JsonValue]"
]  # recursive aliases need the quotes


class NotThisValue(InvalidInput):
    """A JSON text does not describe the value that was asked for."""

    def __init__(self, wanted: str, found: object) -> None:
        self.wanted = wanted
        self.found = found
        super().__init__(f"expected {wanted}, found {found!r:.200}")


def to_json(value: object) -> JsonValue:
    """The value as plain JSON; :func:`from_json` with its class is the way back."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(to_json(key)): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, frozenset)):
        return [to_json(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields_to_json(value)
    raise NotThisValue("a value that JSON can carry", value)


def from_json(cls: type[T], data: object) -> T:
    """The value that :func:`to_json` wrote, or :class:`NotThisValue`."""
    return typing.cast("T", _read(cls, data))


def encode(value: object) -> bytes:
    """The value as the bytes of a file."""
    return json.dumps(to_json(value), indent=1, sort_keys=True).encode()


def decode(cls: type[T], data: bytes) -> T:
    """The value that :func:`encode` wrote; anything else is :class:`InvalidInput`."""
    return from_json(cls, parsed(data))


def parsed(data: bytes) -> object:
    """The JSON of a file of ours, or :class:`InvalidInput`."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise InvalidInput(f"a file of the control folder is damaged: {error}") from error


def _fields_to_json(value: Any) -> dict[str, JsonValue]:
    data: dict[str, JsonValue] = {}
    kind = getattr(type(value), "KIND", None)
    if kind is not None:
        data["kind"] = kind
    for field in dataclasses.fields(value):
        data[field.name] = to_json(getattr(value, field.name))
    return data


def _read(wanted: Any, data: object) -> object:
    wanted = getattr(wanted, "__supertype__", wanted)
    origin = typing.get_origin(wanted)
    if origin in (typing.Union, types.UnionType):
        return _read_union(typing.get_args(wanted), data)
    if origin is not None:
        return _read_container(origin, typing.get_args(wanted), data)
    if wanted is Any:
        return data
    if dataclasses.is_dataclass(wanted) and isinstance(wanted, type):
        return _read_dataclass(wanted, data)
    return _read_scalar(wanted, data)


def _read_scalar(wanted: Any, data: object) -> object:
    try:
        if issubclass(wanted, Enum):
            return wanted(data)
        if wanted is datetime and isinstance(data, str):
            return datetime.fromisoformat(data)
        if wanted is timedelta and isinstance(data, (int, float)):
            return timedelta(seconds=data)
    except (ValueError, OverflowError):
        raise NotThisValue(wanted.__name__, data) from None
    if wanted is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(data, wanted) and (wanted is bool or not isinstance(data, bool)):
        return data
    raise NotThisValue(wanted.__name__, data)


def _read_union(members: tuple[Any, ...], data: object) -> object:
    if data is None and type(None) in members:
        return None
    kind = data.get("kind") if isinstance(data, dict) else None
    for member in members:
        if member is type(None) or (kind is not None and getattr(member, "KIND", kind) != kind):
            continue
        try:
            return _read(member, data)
        except NotThisValue:
            continue
    raise NotThisValue(" or ".join(getattr(m, "__name__", str(m)) for m in members), data)


def _read_container(origin: Any, args: tuple[Any, ...], data: object) -> object:
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise NotThisValue("an object", data)
        return {_read(args[0], key): _read(args[1], item) for key, item in data.items()}
    if origin not in (tuple, frozenset, list) or not isinstance(data, list):
        raise NotThisValue("a list", data)
    if origin is tuple and Ellipsis not in args:
        if len(args) != len(data):
            raise NotThisValue(f"a list of {len(args)}", data)
        return tuple(_read(arg, item) for arg, item in zip(args, data, strict=True))
    return origin(_read(args[0], item) for item in data)


def _read_dataclass(cls: type[Any], data: object) -> object:
    if not isinstance(data, dict):
        raise NotThisValue(cls.__name__, data)
    hints = _hints(typing.cast("Hashable", cls))
    arguments = {
        field.name: _read(hints[field.name], data[field.name])
        for field in dataclasses.fields(cls)
        if field.name in data
    }
    try:
        return cls(**arguments)
    except TypeError:
        raise NotThisValue(cls.__name__, data) from None


@functools.cache
def _hints(cls: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(cls)
