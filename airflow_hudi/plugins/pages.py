# SPDX-License-Identifier: Apache-2.0
"""Reports as HTML. Every text comes from a table or a request, and every text is escaped."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from html import escape

from airflow_hudi.cli import timeline as timeline_command
from airflow_hudi.cli.plans import PlansReport
from airflow_hudi.cli.shared import MARK
from airflow_hudi.cli.table import TableReport
from airflow_hudi.cli.timeline import TimelineReport
from airflow_hudi.core.heartbeat import load_heartbeats
from airflow_hudi.core.plans import PlannedInstant
from airflow_hudi.core.schemas import load_schema
from airflow_hudi.core.table import Table
from airflow_hudi.links.table import table_page
from airflow_hudi.plugins.warehouse import TableEntry, TableList

_STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 1.5rem; color: #1f2937; background: #fff; }
h1 { font-size: 1.3rem; margin: 0; } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .25rem 0; } .soft { color: #6b7280; } a { color: #0b6bcb; }
pre { background: #f6f7f9; border-radius: 6px; padding: .75rem 1rem; overflow-x: auto;
      font: 12.5px/1.5 ui-monospace, monospace; margin: 0; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .25rem 1.5rem .25rem 0; }
.requested { color: #b45309; } .inflight { color: #0b6bcb; } .completed { color: #15803d; }
@media (prefers-color-scheme: dark) {
  body { color: #e5e7eb; background: #111418; } .soft { color: #9ca3af; } a { color: #7cb7f4; }
  pre { background: #1b2027; }
  .requested { color: #f5b454; } .inflight { color: #7cb7f4; } .completed { color: #6fcf8b; }
}
"""


@dataclass(frozen=True, slots=True)
class TableView:
    """One table as the command line would tell of it, from one listing of its timeline."""

    timeline: TimelineReport
    plans: PlansReport
    table: TableReport


def load_view(table: Table) -> TableView:
    """Read what the page shows."""
    timeline = timeline_command.load_report(table, argparse.Namespace(history=False))
    planned = tuple(PlannedInstant(instant, plan) for instant, plan in timeline.plans.items())
    return TableView(
        timeline,
        PlansReport(table, timeline.active, planned),
        TableReport(
            table,
            timeline.active,
            load_schema(table, timeline.active),
            timeline.heartbeats or load_heartbeats(table),
            timeline.now,
        ),
    )


def render_table(view: TableView, *, conn_id: str) -> str:
    """A table's page."""
    head, _, timeline = view.timeline.as_text().partition("\n")
    _, _, plans = view.plans.as_text().partition("\n")
    _, _, table = view.table.as_text().partition("\n")
    seen = f"{view.timeline.now:%Y-%m-%d %H:%M:%S} UTC"
    return _page(
        view.timeline.table.properties.name,
        f"<p class=soft>{escape(head)}</p>",
        f"<p class=soft>seen {seen} · {_tables_link(conn_id)}</p>",
        f"<h2>Timeline</h2><pre>{_drawn(timeline)}</pre>",
        f"<h2>Pending plans</h2><pre>{_drawn(plans)}</pre>",
        f"<h2>Table</h2><pre>{_drawn(table)}</pre>",
    )


def render_tables(found: TableList, *, conn_id: str, warehouse: str) -> str:
    """The page of all tables."""
    rows = "".join(_row(entry, conn_id) for entry in found.tables)
    head = "<tr><th>Table</th><th>Type</th><th>Table version</th></tr>"
    more = "" if found.is_complete else "<p>There are more folders than are looked at here.</p>"
    return _page(
        "Hudi tables",
        f"<p class=soft>{escape(warehouse)} · connection {escape(conn_id)}</p>",
        f"<table>{head}{rows}</table>" if rows else "<p>No tables found.</p>",
        more,
    )


def render_problem(sentence: str) -> str:
    """The page for what cannot be shown."""
    return _page("Not shown", f"<p>{escape(sentence)}</p>")


def _row(entry: TableEntry, conn_id: str) -> str:
    name = f'<a href="{_address(conn_id, entry.name)}">{escape(entry.name)}</a>'
    if entry.properties is None:
        return f"<tr><td>{name}</td><td colspan=2>{escape(entry.problem)}</td></tr>"
    kind = entry.properties.type.value.lower().replace("_", "-")
    version = entry.properties.version_number
    return f"<tr><td>{name}</td><td>{escape(kind)}</td><td>{version}</td></tr>"


def _address(conn_id: str, table: str) -> str:
    # Both pages are in one folder, so the last part of the address is enough, under any prefix.
    return escape(table_page(conn_id, table).rpartition("/")[2])


def _tables_link(conn_id: str) -> str:
    query = table_page(conn_id, "").partition("?")[2].partition("&")[0]
    return f'<a href="tables?{escape(query)}">all tables of {escape(conn_id)}</a>'


def _drawn(text: str) -> str:
    drawn = escape(text.strip("\n"))
    for state, mark in MARK.items():
        drawn = drawn.replace(mark, f"<span class={state.value}>{mark}</span>")
    return drawn


def _page(title: str, *parts: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>"
    )
