# SPDX-License-Identifier: Apache-2.0
"""What Airflow is told about this provider, as plain data; nothing is imported for it.

Airflow reads it in every process and each command, so a name is repeated here rather than imported;
``tests/provider/test_provider_info.py`` holds each equal to its home.
"""

from __future__ import annotations

from typing import Any

_NAME = "Apache Hudi"
_TEXT = {"type": ["string", "null"]}
_COUNT = {"type": ["integer", "null"], "minimum": 1}


def get_provider_info() -> dict[str, Any]:
    """The provider's data, in the form of Airflow's ``provider_info.schema.json``."""
    return {
        "package-name": "airflow-hudi",
        "name": _NAME,
        "description": "`Apache Hudi <https://hudi.apache.org/>`__ tables: ingestion and table"
        " services on Spark, sensors and timelines without a JVM.\n",
        "integrations": [
            {
                "integration-name": _NAME,
                "external-doc-url": "https://hudi.apache.org/",
                "tags": ["apache"],
            }
        ],
        "hooks": [_modules("airflow_hudi.hooks.hudi")],
        "operators": [
            _modules(
                "airflow_hudi.operators.ingestion",
                "airflow_hudi.operators.compaction",
                "airflow_hudi.operators.clustering",
                "airflow_hudi.operators.cleaning",
                "airflow_hudi.operators.table_services",
                "airflow_hudi.operators.reading",
            )
        ],
        "sensors": [_modules("airflow_hudi.sensors.commit")],
        "triggers": [_modules("airflow_hudi.triggers.job", "airflow_hudi.triggers.commit")],
        "connection-types": [
            {
                "connection-type": "hudi",
                "hook-class-name": "airflow_hudi.hooks.hudi.HudiHook",
                "hook-name": _NAME,
                "ui-field-behaviour": _FIELD_BEHAVIOUR,
                "conn-fields": _FIELDS,
            }
        ],
        "extra-links": [
            "airflow_hudi.links.spark.HudiSparkLink",
            "airflow_hudi.links.table.HudiTableLink",
        ],
        "plugins": [{"name": "hudi", "plugin-class": "airflow_hudi.plugins.hudi.HudiPlugin"}],
        "asset-uris": [
            {
                "schemes": ["hudi"],
                "handler": "airflow_hudi.assets.sanitize_uri",
                "factory": "airflow_hudi.assets.hudi_asset",
            }
        ],
        "config": {
            "hudi": {
                "description": "What holds for all Hudi tables, whatever their connection.",
                "options": {"table_service_rollback_delay": _ROLLBACK_DELAY},
            }
        },
    }


def _modules(*names: str) -> dict[str, Any]:
    return {"integration-name": _NAME, "python-modules": list(names)}


def _field(label: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"label": label, "description": description, "schema": schema}


_ROLLBACK_DELAY = {
    "description": "How many minutes old a pending log compaction or clustering must be before a"
    " clean may roll it back. Its executor being dead is asked for as well, at any age. The"
    " argument rollback_delay of a task is stronger.\n",
    "version_added": "0.3.0",
    "type": "float",
    "example": "30",
    "default": "60",
}

_FIELD_BEHAVIOUR = {
    # No secret is needed here: storage and Spark bring credentials of their own.
    "hidden-fields": ["login", "password", "port", "schema"],
    "relabeling": {"host": "Warehouse"},
    "placeholders": {"host": "/lake or s3://bucket/lake: the folder the tables are in"},
}

# No defaults: a field that nobody filled in must not look like a choice.
_FIELDS = {
    "release": _field(
        "Hudi release",
        "The release the jobs use; 1.2.0 if left empty.",
        {**_TEXT, "enum": ["0.15.0", "1.0.2", "1.1.1", "1.2.0"]},
    ),
    "spark_conn_id": _field(
        "Spark connection", "Where jobs are submitted to; spark_default if left empty.", _TEXT
    ),
    "lock": _field(
        "Lock",
        "What keeps two jobs from committing at once; filesystem if left empty. filesystem: one"
        " machine only. zookeeper: any number of machines. in_process: one JVM, for tests.",
        {**_TEXT, "enum": ["filesystem", "zookeeper", "in_process"]},
    ),
    "lock_patience_seconds": _field(
        "Lock: patience (seconds)",
        "How long a job asks for the lock before it gives up; if left empty 600, and with a"
        " filesystem lock two minutes more than it takes to expire.",
        _COUNT,
    ),
    "lock_expiry_minutes": _field(
        "Filesystem lock: expiry (minutes)",
        "When the lock file of a dead job may be taken away; 10 if left empty. No job may hold the"
        " lock for longer.",
        _COUNT,
    ),
    "zookeeper_hosts": _field(
        "ZooKeeper: hosts", "Each with its port, as zk1:2181,zk2:2181,zk3:2181.", _TEXT
    ),
    "zookeeper_base_path": _field(
        "ZooKeeper: path",
        "Below which the locks are; /hudi/locks if left empty. The same for all that share tables.",
        _TEXT,
    ),
    "zookeeper_session_seconds": _field(
        "ZooKeeper: session timeout (seconds)",
        "How long the lock of a dead job stays taken; 30 if left empty.",
        _COUNT,
    ),
    "zookeeper_connection_seconds": _field(
        "ZooKeeper: connection timeout (seconds)", "15 if left empty.", _COUNT
    ),
    "control": _field(
        "Control folder",
        "Where jobs leave their records; .hudi_control in the warehouse if left empty.",
        _TEXT,
    ),
    "bundle": _field(
        "Hudi bundle",
        "Path of the bundle's jar on the workers; found or downloaded if left empty.",
        _TEXT,
    ),
    "cluster_manager": _field(
        "Cluster manager",
        "Web page of Spark's standalone master or YARN's resource manager, as http://master:8080."
        " It is asked whether a job on another machine is gone, so that its plan can be taken over"
        " at once; if left empty, minutes of silence decide.",
        _TEXT,
    ),
    "ship": _field(
        "How airflow-hudi reaches the driver",
        "installed: it is there (if left empty). zip: it is packed and sent along. Or the path or"
        " URI of an uploaded .zip.",
        _TEXT,
    ),
}
