"""All operations, done by a Runlore on the other side of a connection."""

from runlore.client.remote.operations import RemoteOperations

__all__ = ["RemoteOperations"]
