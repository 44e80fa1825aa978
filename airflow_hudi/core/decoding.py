# SPDX-License-Identifier: Apache-2.0
"""Bytes of a timeline file as a record: an Avro container with one record, or JSON.

The one place that meets foreign bytes. Whatever is wrong with them comes out as
:class:`Undecodable`, which loaders turn into a defect; no other exception leaves this module.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from airflow_hudi.core.defects import Defect, empty, unreadable, vanished
from airflow_hudi.core.errors import MissingPackage, ObjectNotFound
from airflow_hudi.core.storage.base import Storage

T = TypeVar("T")

AVRO_MAGIC = b"Obj\x01"


class Undecodable(Exception):
    """The bytes are not what their file should hold."""


class Record:
    """A decoded record whose fields are read by type; a field of another type is damage."""

    __slots__ = ("_fields",)

    def __init__(self, fields: object) -> None:
        if not isinstance(fields, Mapping):
            raise Undecodable("not a record")
        self._fields = fields

    def text(self, name: str) -> str | None:
        """A text, or None where it is absent."""
        return self._typed(name, str)

    def number(self, name: str) -> int | None:
        """A whole number, or None where it is absent."""
        return self._typed(name, int)

    def record(self, name: str) -> Record | None:
        """A record inside, or None where it is absent."""
        return None if self._fields.get(name) is None else Record(self._fields[name])

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; absent counts as empty."""
        return tuple(_checked(item, str) for item in self._typed(name, list) or ())

    def records(self, name: str) -> tuple[Record, ...]:
        """A list of records; absent counts as empty."""
        return tuple(Record(item) for item in self._typed(name, list) or ())

    def mapping(self, name: str) -> dict[str, Any]:
        """A mapping from texts to anything; absent counts as empty."""
        items: dict[Any, Any] = self._typed(name, dict) or {}
        return {_checked(key, str): item for key, item in items.items()}

    def text_mapping(self, name: str) -> dict[str, str]:
        """A mapping from texts to texts; a null in it counts as the empty text."""
        return {
            key: "" if item is None else _checked(item, str)
            for key, item in self.mapping(name).items()
        }

    def _typed(self, name: str, kind: type[T]) -> T | None:
        value = self._fields.get(name)
        return None if value is None else _checked(value, kind)


def _checked(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise Undecodable(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


def decode_record(data: bytes) -> Record:
    """The one record of a timeline file, Avro or JSON, told apart by the first bytes."""
    return Record(_decode_avro(data) if data.startswith(AVRO_MAGIC) else _decode_json(data))


def decode_binary(schema: object, data: bytes) -> Record:
    """One Avro record without a container, its schema known from elsewhere."""
    fastavro = _fastavro()
    try:
        return Record(fastavro.schemaless_reader(io.BytesIO(data), schema, None))
    except Undecodable:
        raise
    except Exception as error:
        raise Undecodable(f"bad Avro ({_short(error)})") from error


def parse_avro_schema(text: str) -> object:
    """An Avro schema ready for :func:`decode_binary`."""
    fastavro = _fastavro()
    try:
        return fastavro.parse_schema(_without_defaults(json.loads(text)))
    except Exception as error:
        raise Undecodable(f"bad Avro schema ({_short(error)})") from error


def load_decoded(storage: Storage, path: str, decode: Callable[[bytes], T]) -> T | Defect:
    """What a file says, or the defect that keeps it from saying it."""
    try:
        data = storage.read(path)
    except ObjectNotFound:
        return vanished(path)
    if not data:
        return empty(path)
    try:
        return decode(data)
    except Undecodable as error:
        return unreadable(path, error)


def _decode_avro(data: bytes) -> object:
    fastavro = _fastavro()
    try:
        return next(iter(fastavro.reader(io.BytesIO(data))))
    except StopIteration:
        raise Undecodable("an Avro file without a record") from None
    except Exception as error:
        raise Undecodable(f"bad Avro ({_short(error)})") from error


def decode_avro_file(data: bytes) -> tuple[dict[str, Any], object, dict[str, str]]:
    """The one record of an Avro file with the schema and metadata it was written with."""
    fastavro = _fastavro()
    try:
        reader = fastavro.reader(io.BytesIO(data))
        record = next(iter(reader))
    except Exception as error:
        raise Undecodable(f"bad Avro ({_short(error)})") from error
    own = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
    return record, reader.writer_schema, own


def encode_avro_file(
    record: Mapping[str, Any], schema: object, metadata: Mapping[str, str]
) -> bytes:
    """The way back."""
    buffer = io.BytesIO()
    _fastavro().writer(buffer, schema, [record], metadata=dict(metadata))
    return buffer.getvalue()


def _without_defaults(schema: Any) -> Any:
    # Old releases wrote defaults that do not fit their types; decoding needs none of them.
    if isinstance(schema, dict):
        return {key: _without_defaults(value) for key, value in schema.items() if key != "default"}
    return [_without_defaults(item) for item in schema] if isinstance(schema, list) else schema


def _decode_json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"neither Avro nor JSON ({_short(error)})") from error


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:160]


def _fastavro() -> Any:
    # imported late: a listing of a timeline needs no Avro, and the command line must start fast
    try:
        import fastavro  # noqa: PLC0415
    except ImportError as error:
        raise MissingPackage("fastavro", needed_for="reading plans and commit metadata") from error
    return fastavro
