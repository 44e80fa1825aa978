# SPDX-License-Identifier: Apache-2.0
"""Tasks that wait for something to happen to a table."""
