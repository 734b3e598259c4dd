"""A bucket and a Ray cluster of two machines, both on this one: a real server and real processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

# Before Ray is loaded: it would take this machine's own address.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
import ray
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer
from ray.cluster_utils import Cluster

OLD = datetime(2026, 10, 10, tzinfo=UTC)
LOOPBACK = "127.0.0.1"
# The least that Ray takes.
_STORE_BYTES = 80_000_000


@dataclass(frozen=True)
class Bucket:
    """A bucket of a server that speaks S3."""

    address: str
    client: Any

    def put(self, folder: Path, below: str) -> None:
        """Put the files of a folder there."""
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            self.write(f"{below}/{path.relative_to(folder)}", path.read_bytes())

    def write(self, name: str, content: bytes) -> None:
        self.client.put_object(Bucket="transcripts", Key=name.lstrip("/"), Body=content)

    def empty(self) -> None:
        """Let nothing lie there."""
        for each in self.client.list_objects_v2(Bucket="transcripts").get("Contents", ()):
            self.client.delete_object(Bucket="transcripts", Key=each["Key"])

    def age(self) -> None:
        """Let all of it have been there for long."""
        for backend in s3_backends.values():
            for each in backend.values():
                for key in each.buckets["transcripts"].keys.values():
                    key.last_modified = OLD


@contextmanager
def serve_bucket(patch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket that drivers find by the variables that they know."""
    server = ThreadedMotoServer(ip_address=LOOPBACK, port=0, verbose=False)
    server.start()
    # Servers of one process share what they hold.
    s3_backends.reset()
    try:
        _host, port = server.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{LOOPBACK}:{port}",
            "AWS_ACCESS_KEY_ID": "loopback",
            "AWS_SECRET_ACCESS_KEY": "loopback",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="transcripts")
        yield Bucket("s3://transcripts", client)
    finally:
        server.stop()


@contextmanager
def start_cluster(homes: dict[str, Path]) -> Iterator[Cluster]:
    """A machine for each name, whose users have these homes."""
    cluster = Cluster()
    try:
        for name, home in homes.items():
            cluster.add_node(
                node_name=name,
                node_ip_address=LOOPBACK,
                num_cpus=1,
                object_store_memory=_STORE_BYTES,
                include_dashboard=False,
                env_vars={
                    "HOME": str(home),
                    "RUNLORE_HOME": "",
                    "RAY_TMPDIR": os.environ.get("TMPDIR", "/tmp"),
                },
            )
        yield cluster
    finally:
        if ray.is_initialized():
            ray.shutdown()
        cluster.shutdown()
