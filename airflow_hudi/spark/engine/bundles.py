# SPDX-License-Identifier: Apache-2.0
"""The jars a job needs: known by their coordinates, found on disk, or downloaded once."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_hudi.core.errors import AirflowHudiError, EnvironmentProblem
from airflow_hudi.core.versions import RELEASE_NAMES
from airflow_hudi.core.versions import release as known_release
from airflow_hudi.spark.java import (
    Java,
    check_pyspark,
    find_java,
    is_packaged,
)
from airflow_hudi.spark.trust import named_certificates, trust_options, write_trust_store

_GROUP = "org.apache.hudi"
# One patch of Spark's line for all: the reader works on every other (run on 3.5.9), and for some
# patches there is none to be had (3.5.6, 3.5.8 and 3.5.9, asked in November 2026).
_AVRO_READER = "3.5.7"
_VARIABLES = {_GROUP: "AIRFLOW_HUDI_BUNDLE", "org.apache.spark": "AIRFLOW_HUDI_SPARK_AVRO"}
_STDERR = 2  # not sys.stderr.fileno(): Airflow and pytest replace that object by one without
_NETWORK_CURE = (
    "check the network (a mirror or proxy is set in Spark's spark.jars.ivySettings), or put the jar"
    " on this machine and set {variable} to its path"
)


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar that Ivy can fetch."""

    title: str
    group: str
    artifact: str
    version: str
    megabytes: int

    @property
    def coordinates(self) -> str:
        """Its name in Maven's notation."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def variable(self) -> str:
        """The environment variable that names the jar's path."""
        return f"{_VARIABLES[self.group]}_{self.version.replace('.', '_')}"

    def downloaded_to(self, ivy: Path) -> Path:
        """Where Spark's Ivy leaves the jar."""
        return ivy / "jars" / f"{self.group}_{self.artifact}-{self.version}.jar"

    def ivy_copy(self, ivy: Path) -> Path:
        """Where Ivy keeps its own copy, the source of a later "download"."""
        name = f"{self.artifact}-{self.version}.jar"
        return ivy / "cache" / self.group / self.artifact / "jars" / name


def _bundle(release: str, megabytes: int) -> Jar:
    title = f"Hudi {release} bundle"
    return Jar(title, _GROUP, "hudi-spark3.5-bundle_2.12", release, megabytes)


BUNDLES = {
    bundle.version: bundle
    for bundle in (
        _bundle("0.15.0", 109),
        _bundle("1.0.2", 111),
        _bundle("1.1.1", 80),
        _bundle("1.2.0", 81),
    )
}


def bundle_of(release: str) -> Jar:
    """The bundle of a release this package drives; raises UnknownRelease."""
    return BUNDLES[known_release(release).name]


def avro_reader() -> Jar:
    """What lets Spark read Avro files as a source."""
    title = f"Avro reader of Spark {_AVRO_READER}"
    return Jar(title, "org.apache.spark", "spark-avro_2.12", _AVRO_READER, 1)


def cache_folder() -> Path:
    """Where this package keeps what it downloads."""
    own = os.environ.get("AIRFLOW_HUDI_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(shared).expanduser() / "airflow-hudi"


def bundle_jar(release: str, *, jar: str | Path | None = None) -> Path:
    """The jar of a release: the given one, the variable's, the cached one, else downloaded."""
    return have_jar(bundle_of(release), named=jar)


def have_jar(jar: Jar, *, named: str | Path | None = None) -> Path:
    """A jar on this machine: the named one, the variable's, the cached one, else downloaded."""
    given = named or os.environ.get(jar.variable)
    if given:
        return _checked(Path(given).expanduser(), jar)
    ivy = cache_folder() / "ivy"
    cached = jar.downloaded_to(ivy)
    if _is_jar(cached):
        return cached
    with _locked(cache_folder()):
        if not _is_jar(cached):  # another process may have been here while we waited
            _download(jar, ivy)
    return cached


def main(releases: Sequence[str]) -> int:
    """Have the bundles of these releases here, or of all; each one's place is printed."""
    try:
        for release in releases or RELEASE_NAMES:
            sys.stdout.write(f"Hudi {release}: {bundle_jar(release)}\n")
    except AirflowHudiError as error:
        _say(str(error))
        return 1
    return 0


def _checked(path: Path, jar: Jar) -> Path:
    if not _is_jar(path):
        raise EnvironmentProblem(
            f"{path} is not a readable jar of the {jar.title}",
            cure=f"set {jar.variable} to the path of {jar.artifact}-{jar.version}.jar,"
            " or unset it to have the jar downloaded",
        )
    return path.resolve()


def _is_jar(path: Path) -> bool:
    # A zip's directory is its last part, so a download cut short is seen without reading it all.
    return path.is_file() and zipfile.is_zipfile(path)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time: Ivy itself does not guard its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "download.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _download(jar: Jar, ivy: Path) -> None:
    for damaged in (jar.downloaded_to(ivy), jar.ivy_copy(ivy)):
        damaged.unlink(missing_ok=True)
    _say(f"Downloading {jar.title} (about {jar.megabytes} MB, once) …")
    started = time.monotonic()
    status = _run_ivy(jar, ivy)
    if not _is_jar(jar.downloaded_to(ivy)):
        raise EnvironmentProblem(
            f"the {jar.title} could not be downloaded (spark-submit ended with status {status})",
            cure=_NETWORK_CURE.format(variable=jar.variable),
        )
    _say(f"{jar.title} is here after {time.monotonic() - started:.0f} s")


def _run_ivy(jar: Jar, ivy: Path) -> int:
    """Let Spark's own Ivy fetch the jar, so that the user's Spark settings for it count."""
    check_pyspark()
    java = find_java()
    environ = {
        **os.environ,
        **_trusting(java, ivy.parent / "trusted.p12"),
        "JAVA_HOME": str(java.home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "nothing_to_do.py"
        script.touch()
        command = [
            str(_spark_home() / "bin" / "spark-submit"),
            *("--packages", jar.coordinates),
            # Always named: Java takes the home folder from the passwd entry, not from $HOME.
            *("--conf", f"spark.jars.ivy={ivy}"),
            str(script),
        ]
        # Ivy's report goes to our stderr as it comes: it is the progress the user sees.
        done = subprocess.run(  # noqa: S603 - Spark's own command, no shell
            command, env=environ, stdout=_STDERR, check=False
        )
    return done.returncode


def _trusting(java: Java, store: Path) -> dict[str, str]:
    """What makes a Java from PyPI trust the certificates that this machine's environment names."""
    certificates = named_certificates(os.environ)
    if not is_packaged(java) or certificates is None or not write_trust_store(certificates, store):
        return {}
    options = (os.environ.get("SPARK_SUBMIT_OPTS", ""), *trust_options(store))
    return {"SPARK_SUBMIT_OPTS": " ".join(filter(None, options))}


def _spark_home() -> Path:
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home)
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentProblem(
            "PySpark is not installed", cure="pip install 'airflow-hudi[local]'"
        )
    return Path(spec.submodule_search_locations[0])


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
