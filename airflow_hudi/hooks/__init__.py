# SPDX-License-Identifier: Apache-2.0
"""Airflow's way to the tables of one Hudi connection."""
