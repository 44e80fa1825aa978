# SPDX-License-Identifier: Apache-2.0
"""The command line: look at a Hudi table without a JVM.

::

    python -m airflow_hudi timeline PATH [--json] [--history]
    python -m airflow_hudi plans PATH [--json] [--all]
    python -m airflow_hudi table PATH [--json]

It ends with 0, or with 1 and one sentence when the table cannot be read, or with 2 when it was
called wrongly.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence

from airflow_hudi.core.errors import AirflowHudiError

_EPILOG = "PATH is a table's base path: a local folder, file://…, or s3://bucket/…"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the process's exit code."""
    options = _parser().parse_args(arguments)
    try:
        print(_output(options))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except AirflowHudiError as error:
        return _said(str(error))
    except OSError as error:
        return _said(f"{options.path} cannot be read: {error}")
    return 0


def _output(options: argparse.Namespace) -> str:
    # each command loads only what it needs: a look at a table is to take no time
    from airflow_hudi.cli.shared import printable  # noqa: PLC0415
    from airflow_hudi.core.instants import Zone  # noqa: PLC0415
    from airflow_hudi.core.table import open_table  # noqa: PLC0415

    zone = Zone(options.timezone) if options.timezone else None
    command = importlib.import_module(f"airflow_hudi.cli.{options.command}")
    report = command.load_report(open_table(options.path, zone=zone), options)
    if options.json:
        return json.dumps(report.as_json(), indent=2)
    return printable(report.as_text())


def _said(sentence: str) -> int:
    print(f"airflow-hudi: {sentence}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m airflow_hudi",
        description="Look at an Apache Hudi table: its timeline, its pending plans, itself.",
        epilog=_EPILOG,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    timeline = _command(commands, "timeline", "draw the table's instants")
    timeline.add_argument("--history", action="store_true", help="archived instants too")
    plans = _command(commands, "plans", "show what pending plans would do")
    plans.add_argument("--all", action="store_true", help="plans already carried out too")
    _command(commands, "table", "show what the table says of itself")
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text.capitalize(), epilog=_EPILOG)
    command.add_argument("path", metavar="PATH", help="the table's base path or URI")
    command.add_argument("--json", action="store_true", help="one JSON object, for programs")
    command.add_argument(
        "--timezone",
        metavar="ZONE",
        help="where the table's writers run, if it keeps local time and that is not this machine's",
    )
    return command
