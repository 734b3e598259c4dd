"""Runs that nothing is to be learned from: whoever asked for one said so, and its journal keeps that."""

from collections.abc import Mapping
from contextlib import suppress

from runlore.domain.errors import Corrupt
from runlore.domain.run import Run
from runlore.ports.store import Collections

LEARN = "learn"
"""The name in the metadata of an input; false says that nothing is looked for when the run has ended."""


def is_left_out(collections: Collections, run: Run) -> bool:
    with suppress(Corrupt):
        for event in collections.journal.range(run.session_id, run.input_number, run.input_number):
            metadata = event.body.get("metadata")
            return isinstance(metadata, Mapping) and metadata.get(LEARN) is False
    return False
