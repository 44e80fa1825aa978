# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools

import pytest

from airflow_hudi.core.errors import UnknownRelease, UnknownTableVersion, UnsupportedFeature
from airflow_hudi.core.layout import Layout
from airflow_hudi.core.versions import (
    RELEASES,
    TABLE_VERSIONS,
    Ability,
    Feature,
    release,
    table_version,
)


@pytest.mark.parametrize(("number", "layout"), [(5, 1), (6, 1), (7, 1), (8, 2), (9, 2)])
def test_table_version_decides_the_layout(number: int, layout: int) -> None:
    assert table_version(number).layout is Layout(layout)


def test_features_are_looked_up() -> None:
    assert table_version(8).supports(Feature.COMPLETION_TIMES)
    assert not table_version(8).supports(Feature.SEVERAL_ORDERING_FIELDS)
    table_version(9).require(Feature.SEVERAL_ORDERING_FIELDS)
    with pytest.raises(
        UnsupportedFeature,
        match="non-blocking concurrency control is not possible with table version 6; it needs",
    ):
        table_version(6).require(Feature.NON_BLOCKING_WRITERS)


def test_every_feature_is_known_to_some_version_and_the_numbers_have_no_gap() -> None:
    assert [version.number for version in TABLE_VERSIONS] == list(range(10))
    assert all(TABLE_VERSIONS[-1].supports(feature) for feature in Feature)


@pytest.mark.parametrize(
    ("name", "default"), [("0.15.0", 6), ("1.0.2", 8), ("1.1.1", 9), ("1.2.0", 9)]
)
def test_release_makes_tables_of_its_own_version(name: str, default: int) -> None:
    assert release(name).default_table_version == default


def test_abilities_only_grow() -> None:
    for older, newer in itertools.pairwise(RELEASES):
        assert older.abilities <= newer.abilities
    assert not release("1.1.1").can(Ability.COMPACTION_GUARD)
    assert release("1.2.0").can(Ability.COMPACTION_GUARD)


def test_unknown_ones_are_said_with_the_known_ones() -> None:
    with pytest.raises(
        UnknownRelease, match=r"'0.14.0' is not supported; choose one of 0\.15\.0, "
    ):
        release("0.14.0")
    with pytest.raises(UnknownTableVersion, match="upgrade airflow-hudi"):
        table_version(10)
