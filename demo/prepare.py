# SPDX-License-Identifier: Apache-2.0
"""``python -m demo.prepare FOLDER``: make Airflow's database, and the connections that are missing.

Connections that are there stay as they are: somebody may have edited them in the user interface.
"""

from __future__ import annotations

import sys
from pathlib import Path

from airflow.models import Connection
from airflow.utils.db import initdb
from airflow.utils.session import create_session
from sqlalchemy import select

from demo.environment import Place, connections


def main(folder: str) -> int:
    """Runs in an environment of its own, for Airflow reads that when it is imported."""
    initdb()
    with create_session() as session:
        there = set(session.scalars(select(Connection.conn_id)))
        for name, fields in connections(Place(Path(folder))).items():
            if name not in there:
                session.add(
                    Connection(
                        conn_id=name,
                        conn_type=fields["conn_type"],
                        host=fields["host"],
                        description=fields["description"],
                        # The list's Test button sends 0 where there is none, and is refused (3.3).
                        port=0,
                    )
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
