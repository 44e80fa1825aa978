# SPDX-License-Identifier: Apache-2.0
"""What every storage does alike with the path and the content of an object."""

from __future__ import annotations

import hashlib

from airflow_hudi.core.errors import UnsafePath
from airflow_hudi.core.storage.base import Version, checked_path


def object_path(path: str) -> str:
    """The normal form of a path that names an object, which the root itself never does."""
    normal = checked_path(path)
    if not normal or path.endswith("/"):
        raise UnsafePath(path)
    return normal


def content_version(data: bytes) -> Version:
    """A version by content: as S3's, it comes back when the same bytes come back."""
    return Version(hashlib.sha256(data).hexdigest()[:32])
