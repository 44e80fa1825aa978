# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

from hypothesis import settings

# Timings are never asserted; in CI the same examples are drawn every time, elsewhere new ones.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")
