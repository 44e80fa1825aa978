# SPDX-License-Identifier: Apache-2.0
"""What the documents say is true: their code runs, their links and commands lead somewhere."""

from __future__ import annotations

import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.tables.fixtures import StoredTable

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("**/*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
]


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL
    )


def test_the_first_example_of_the_readme_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = StoredTable("1.2.0", "mor_pending").unpack(tmp_path)
    (example,) = [code for code in blocks(ROOT / "README.md", "python") if "open_table" in code]
    exec(compile(example.replace("s3://lake/orders", str(base)), "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "deltacommit completed" in said
    assert "compaction requested CompactionPlan(" in said


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text())
    inside = [target for target in targets if "://" not in target]
    assert [target for target in inside if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_of_make_exist(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = set(
        re.findall(
            r"`?\bmake ([a-z][a-z-]+)\b",
            "\n".join(
                [
                    *blocks(document, "bash"),
                    *re.findall(r"`make [a-z-]+[^`]*`", document.read_text()),
                ]
            ),
        )
    )
    assert {name for name in named if f"\n{name}:" not in makefile} == set()


def quotations() -> list[tuple[str, str, str]]:
    """Document and marker of every quoted part of an example, and the quoted code."""
    found = [
        (document.name, code.partition("\n"))
        for document in DOCUMENTS
        for code in blocks(document, "python")
        if code.startswith("# dags_examples/")
    ]
    return [(document, head, code) for document, (head, _, code) in found]


@pytest.mark.parametrize(("document", "head", "code"), quotations(), ids=lambda text: text[:40])
def test_what_a_document_quotes_is_what_the_example_says(
    document: str, head: str, code: str
) -> None:
    named = re.fullmatch(r"# (dags_examples/\w+\.py): (\w+)", head)
    assert named is not None, document
    example = (ROOT / named[1]).read_text()
    marked = re.search(rf"# \[START {named[2]}\]\n(.*?) *# \[END {named[2]}\]", example, re.DOTALL)
    assert marked is not None, f"{named[1]} has no part {named[2]}"
    assert textwrap.dedent(marked[1]).strip() == code.strip()


def test_make_alone_lists_every_command() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^([a-z][a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [line.split()[1] for line in listed.splitlines()] == targets


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
