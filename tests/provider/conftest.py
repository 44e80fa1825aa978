# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import tempfile

# Airflow reads its home on import and writes a configuration file there; never into the user's own.
os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-hudi-tests-"))
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__CORE__UNIT_TEST_MODE", "True")
