"""A certificate for this machine, made anew for every run of the tests, with its key and its authority."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import trustme


@cache
def loopback_certificate() -> Path:
    """One PEM file that is good for localhost and 127.0.0.1: key, certificate, and who signed it."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    folder = Path(tempfile.mkdtemp(prefix="runlore-certificate-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "loopback.pem"
    path.write_bytes(issued.private_key_and_cert_chain_pem.bytes() + authority.cert_pem.bytes())
    return path
