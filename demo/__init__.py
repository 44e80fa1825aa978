# SPDX-License-Identifier: Apache-2.0
"""`make demo` and `make ui`: the example DAGs on an Airflow of this checkout's own."""
