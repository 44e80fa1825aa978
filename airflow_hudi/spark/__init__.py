# SPDX-License-Identifier: Apache-2.0
"""The driver's side: sessions, job runner and the adapters to Hudi's Java."""
