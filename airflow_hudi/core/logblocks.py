# SPDX-License-Identifier: Apache-2.0
"""Hudi's log format: the blocks of a log file, and the records of its Avro blocks.

Layout 1 keeps its archived timeline in this format. A block is: magic, int64 size (without the
magic), int32 format version, int32 type, header map, int64 content length, content, footer map,
int64 size with the magic. All numbers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from airflow_hudi.core.decoding import Record, Undecodable, decode_binary, parse_avro_schema

MAGIC = b"#HUDI#"
AVRO_BLOCK = 3
SCHEMA_HEADER = 2

_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")


@dataclass(frozen=True, slots=True)
class LogBlock:
    """One whole block of a log file."""

    offset: int
    type: int
    header: dict[int, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class CorruptBlock:
    """Bytes between two magics that are no block: a write that was cut short, or damage."""

    offset: int
    because: str


class _Cursor:
    """Reads numbers and bytes in sequence and never beyond its end."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self.data = data
        self.position = start
        self.end = min(end, len(data))

    def take(self, length: int) -> bytes:
        if length < 0 or self.position + length > self.end:
            raise Undecodable(f"{length} bytes wanted, {self.end - self.position} left")
        start, self.position = self.position, self.position + length
        return self.data[start : self.position]

    def number(self) -> int:
        return int(_INT.unpack(self.take(_INT.size))[0])

    def long_number(self) -> int:
        return int(_LONG.unpack(self.take(_LONG.size))[0])


def read_blocks(data: bytes) -> Iterator[LogBlock | CorruptBlock]:
    """The blocks of a log file in their order, whatever state it is in."""
    offset = 0
    while offset < len(data):
        if not data.startswith(MAGIC, offset):
            yield CorruptBlock(offset, "no block begins here")
            offset = _next_magic(data, offset)
            continue
        try:
            block, offset = _read_block(data, offset)
        except (Undecodable, UnicodeDecodeError) as error:
            yield CorruptBlock(offset, str(error))
            offset = _next_magic(data, offset + len(MAGIC))
        else:
            yield block


def avro_records(block: LogBlock) -> Iterator[Record]:
    """The records of an Avro block, decoded with the schema it carries."""
    schema = parse_avro_schema(block.header.get(SCHEMA_HEADER, ""))
    content = _Cursor(block.content, 0, len(block.content))
    content.number()  # the block's own version; all releases write the same body
    for _ in range(content.number()):
        yield decode_binary(schema, content.take(content.number()))


def _read_block(data: bytes, offset: int) -> tuple[LogBlock, int]:
    start = offset + len(MAGIC)
    size = _Cursor(data, start, len(data)).long_number()
    end = start + _LONG.size + size
    if size < 0 or end > len(data):
        raise Undecodable(f"a block of {size} bytes, cut short")
    if _LONG.unpack_from(data, end - _LONG.size)[0] != size + len(MAGIC):
        raise Undecodable("the sizes at a block's two ends differ")
    body = _Cursor(data, start + _LONG.size, end)
    body.number()  # format version
    block_type = body.number()
    header = _read_header(body)
    content = body.take(body.long_number())
    return LogBlock(offset, block_type, header, content), end


def _read_header(body: _Cursor) -> dict[int, str]:
    return {body.number(): body.take(body.number()).decode() for _ in range(body.number())}


def _next_magic(data: bytes, start: int) -> int:
    found = data.find(MAGIC, start)
    return len(data) if found < 0 else found
