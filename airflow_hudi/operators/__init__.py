# SPDX-License-Identifier: Apache-2.0
"""What a DAG author uses: one operator per kind of work."""
