# SPDX-License-Identifier: Apache-2.0
"""Pages of ours in Airflow's own user interface."""
