# SPDX-License-Identifier: Apache-2.0
"""What waits in Airflow's triggerer, without a worker."""
