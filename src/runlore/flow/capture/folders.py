"""What an operator has settled about working folders (SEC-2), as notes of the store."""

import json
from dataclasses import replace

from runlore.domain.errors import Conflict, NotFound
from runlore.domain.project import FolderBinding, FolderId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.ports.store import Collections, Transaction

_NOTE = "folder.binding:"


def find_binding(collections: Collections, folder_id: FolderId) -> FolderBinding | None:
    noted = collections.counters.note(f"{_NOTE}{folder_id}")
    return None if noted is None else deserialize(FolderBinding, json.loads(noted))


def get_binding(collections: Collections, folder_id: FolderId) -> FolderBinding:
    found = find_binding(collections, folder_id)
    if found is None:
        raise NotFound(
            f"nobody has bound the folder {folder_id}",
            code="folder.not-found",
            hint="`runlore folder bind PATH` binds one, and shows its id",
        )
    return found


def put_binding(tx: Transaction, wanted: FolderBinding, *, expected_revision: int | None) -> FolderBinding:
    """Bind a folder; the same once more changes nothing."""
    tx.lock({Scope(ScopeKind.PROJECT, wanted.folder_id)})
    present = find_binding(tx, wanted.folder_id)
    revision = 0 if present is None else present.revision
    if expected_revision is not None and expected_revision != revision:
        raise Conflict(
            f"the folder {wanted.folder_id} is at revision {revision}, not {expected_revision}",
            code="folder.revision",
            hint="read it again, and decide on what it says now",
        )
    if present is not None and replace(wanted, updated_at=present.updated_at, revision=revision) == present:
        return present
    binding = replace(wanted, revision=revision + 1)
    tx.counters.set_note(f"{_NOTE}{wanted.folder_id}", json.dumps(serialize(binding)))
    return binding
