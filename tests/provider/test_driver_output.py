# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from airflow_hudi.hooks.driver_output import DriverOutput


def test_a_line_is_given_once_and_only_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "driver.log"
    output = DriverOutput(file)
    assert list(output.new_lines()) == []  # not there yet
    said = "» reading the source\n» größer\n".encode()
    with file.open("wb", buffering=0) as driver:
        driver.write(said[:10])
        assert list(output.new_lines()) == []
        driver.write(said[10:-4])  # to the middle of a letter
        assert list(output.new_lines()) == ["reading the source"]
        driver.write(said[-4:])
        assert list(output.new_lines()) == ["größer"]
        assert list(output.new_lines()) == []


def test_what_looks_like_a_secret_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "driver.log"
    file.write_text("password=abc\nGET https://me:abc@host/x\n")
    output = DriverOutput(file)
    assert "abc" not in " ".join(output.new_lines())
    assert "abc" not in output.last_lines()


def test_the_end_of_a_long_output_is_found_without_reading_it_all(tmp_path: Path) -> None:
    file = tmp_path / "driver.log"
    with file.open("wb") as driver:
        driver.truncate(10**12)  # a hole: it could not be read whole
        driver.seek(0, 2)
        driver.write("\n» one\n\ntwo\n".encode())
    assert DriverOutput(file).last_lines(2) == "one\ntwo"


def test_output_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert DriverOutput(tmp_path / "gone").last_lines() == ""
