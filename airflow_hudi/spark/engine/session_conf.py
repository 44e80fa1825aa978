# SPDX-License-Identifier: Apache-2.0
"""The Spark settings without which Hudi does not work; the same in all releases we drive."""

from __future__ import annotations

HUDI_SESSION_CONF = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}

HUDI_JVM_OPTIONS = ("-Djdk.attach.allowAttachSelf=true", "-Djol.skipHotspotSAAttach=true")
"""Hudi's size estimator attaches to its own JVM: let it, and spare it a helper process that fails.
One line about that is still printed on stdout; it has no switch."""

RELEASE_PROPERTY = "airflow_hudi.release"
"""The JVM's system property that says which bundle it was started with."""
