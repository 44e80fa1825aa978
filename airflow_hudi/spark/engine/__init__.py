# SPDX-License-Identifier: Apache-2.0
"""Hudi's own names: jars, Java classes and calls, one adapter per release line. Nowhere else."""
