# SPDX-License-Identifier: Apache-2.0
"""The Spark provider's own ``spark-submit``, started so that it outlives the task that starts it.

Command, master, queue, Kerberos and masking are the provider's. Only the last step differs: its
``submit`` ties the driver to the task by a pipe, and after a crash of the task nobody could tell
whether the driver lives.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_hudi.core.errors import EnvironmentProblem
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.hooks.spark_binary import find_spark_submit
from airflow_hudi.spark.launch import Launch

_NO_CLUSTER_MODE = ("local", "spark://")


class DetachedSparkSubmit(SparkSubmitHook):
    """Starts a driver and returns; the driver's life is watched through the control folder."""

    @classmethod
    def of(
        cls, launch: Launch, *, conn_id: str, name: str, arguments: list[str]
    ) -> DetachedSparkSubmit:
        """The hook for one driver, with the Spark connection's master and settings."""
        cls._require_connection(conn_id)
        hook = cls(
            conf=dict(launch.conf),
            conn_id=conn_id,
            jars=launch.jars,
            driver_class_path=launch.driver_class_path,
            py_files=launch.py_files,
            name=name,
            application_args=arguments,
            spark_binary=_binary(),
        )
        hook._refuse_impossible_mode()
        return hook

    @property
    def runs_elsewhere(self) -> bool:
        """Cluster mode: the driver is not on this machine."""
        return bool(self._connection["deploy_mode"] == "cluster")

    def start(self, script: str, log: Path, environ: Mapping[str, str]) -> int:
        """Start the driver, its output going to a file; the number of its process session."""
        command = self._build_spark_submit_command(script)
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - the provider's command, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**environ, **(self._env or {})},
                cwd=log.parent,  # Derby and Spark leave files where they run
                start_new_session=True,
            )
        # It may outlive this task; if it does not, somebody must take note, or a zombie stays.
        threading.Thread(target=process.wait, name="driver's end", daemon=True).start()
        return process.pid

    @classmethod
    def _require_connection(cls, conn_id: str) -> None:
        # The provider takes a connection that is not there for YARN, and says so in an info line.
        try:
            cls.get_connection(conn_id)
        except AirflowNotFoundException as error:
            raise EnvironmentProblem(
                f"there is no Spark connection {conn_id!r}",
                cure="add it, or name another in spark_conn_id of the Hudi connection",
            ) from error

    def _refuse_impossible_mode(self) -> None:
        master = self._connection["master"]
        if self.runs_elsewhere and master.startswith(_NO_CLUSTER_MODE):
            raise InvalidWork(
                f"Spark runs no Python driver in cluster mode on {master}",
                cure="set the Spark connection's deploy mode to client, or use YARN or Kubernetes",
            )


def _binary() -> str:
    found = find_spark_submit(os.environ)
    if found is None:
        raise EnvironmentProblem(
            "no spark-submit in SPARK_HOME, on PATH or in the package pyspark",
            cure="pip install 'airflow-hudi[local]', or set SPARK_HOME on the worker",
        )
    return str(found.absolute())  # the driver runs in another folder
