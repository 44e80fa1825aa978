# SPDX-License-Identifier: Apache-2.0
"""Buttons on a task's page that lead to what it works on."""
