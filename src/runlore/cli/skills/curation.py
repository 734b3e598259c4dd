"""`curate`, `undo` and `curations` of skills: drafts kept from piling up, and all of it undone."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation
from runlore.cli.skills.mount_updates import bring_mounts_up_to_date
from runlore.cli.tables import library_tables
from runlore.cli.typer_commands import argument, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.skills.skill_curation import CurationId
from runlore.ports import operations as ops


def curate(
    call: Invocation,
    apply: Annotated[bool, option("--apply", "Do it; without this it is only told.")] = False,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Merge, drop and prune drafts, or tell what would be.

    Drafts become one where they share two topic words, two of the commands that their steps run, and half of
    all that they run; of two that say the same one goes, and so do those that were skipped or, where the
    policy says so, not used for long. What people wrote or promoted is never touched, and what comes from
    outside never becomes one with what does not.
    """
    request = ops.CurateRequest(apply=apply, idempotency_key=idempotency_key)
    with call.operations() as operations:
        answer = operations.curate_skills(request)
        if answer.curation is not None:
            bring_mounts_up_to_date(call, operations)
    call.answer(answers.write(answer), lambda: library_tables.show_curated(answer))


def undo(
    call: Invocation,
    curation_id: Annotated[CurationId | None, argument("ID", "The curation; the newest if left out.")] = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Put back what a curation did.

    Byte for byte as it was; refused where one of its skills was changed since.
    """
    with call.operations() as operations:
        undone = operations.undo_curation(curation_id, idempotency_key)
        bring_mounts_up_to_date(call, operations)
    call.answer(answers.write(undone), lambda: library_tables.show_undone(undone))


def curations(
    call: Invocation,
    limit: options.LimitOption = limits.LIST_LIMIT_DEFAULT,
) -> None:
    """List what curation did, the newest first.

    Each can be undone by its id.
    """
    call.ask(lambda operations: operations.list_curations(limit), library_tables.show_curations)
