# SPDX-License-Identifier: Apache-2.0
"""``python -m airflow_hudi``: see :mod:`airflow_hudi.cli`."""

from __future__ import annotations

import sys

from airflow_hudi.cli import main

if __name__ == "__main__":
    sys.exit(main())
