# SPDX-License-Identifier: Apache-2.0
"""Tables made just now by every Hudi release: our readers say what Hudi's own Java says."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_hudi.spark.engine.bundles import RELEASES
from tests.parity import engines_view, our_view
from tests.spark.engines import Engines
from tests.tables.recipes import Recipe, recipes_for

pytestmark = pytest.mark.spark

CASES = [(release, recipe) for release in RELEASES for recipe in recipes_for(release)]
_VIEW = "tests.spark.engine_view:engine_view"


@pytest.mark.parametrize(
    ("release", "recipe"), CASES, ids=[f"{release}-{recipe.name}" for release, recipe in CASES]
)
def test_we_say_what_hudi_says(
    engines: Engines, release: str, recipe: Recipe, tmp_path: Path
) -> None:
    engine = engines[release]
    base, _ = recipe.build(engine, tmp_path)

    hudi = engines_view(engine.call(_VIEW, base=str(base)))
    ours = our_view(base)

    for key, value in hudi.items():
        assert ours[key] == value, key
