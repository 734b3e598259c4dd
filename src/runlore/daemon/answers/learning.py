"""The learning plane: what a filter revoked, what a policy would do, and what capture and jobs came to."""

from runlore.daemon.answers.records import read_record
from runlore.daemon.answers.shapes import each, flag, items_of, listed, reader
from runlore.domain.learning_policy import Action
from runlore.domain.record import JsonValue
from runlore.domain.representation import Plain, as_object, as_text, as_whole, record_to_plain
from runlore.domain.run import RunId
from runlore.ports import operations as ops


def revoked_to_plain(answer: ops.Revoked) -> Plain:
    """What was, or with `dry_run` would be, revoked."""
    return {"dry_run": answer.dry_run, **listed(record_to_plain(record) for record in answer.items)}


@reader
def revoked_from_plain(plain: JsonValue) -> ops.Revoked:
    """Read what was revoked."""
    return ops.Revoked(items=items_of(plain, read_record), dry_run=flag(as_object(plain)["dry_run"]))


def trial_to_plain(answer: ops.TrialAnswer) -> Plain:
    """What a policy would do, beside what the present one does."""
    return {
        "present_revision": answer.present_revision,
        **listed(_trial_row_to_plain(row) for row in answer.rows),
    }


@reader
def trial_from_plain(plain: JsonValue) -> ops.TrialAnswer:
    """Read what a policy would do."""
    return ops.TrialAnswer(
        present_revision=as_whole(as_object(plain)["present_revision"]),
        rows=items_of(plain, _read_trial_row),
    )


def _trial_row_to_plain(row: ops.TrialRow) -> Plain:
    return {
        "record": record_to_plain(row.record),
        "present": _outlook_to_plain(row.present),
        "tried": _outlook_to_plain(row.tried),
        "differs": row.differs,
    }


def _read_trial_row(plain: JsonValue) -> ops.TrialRow:
    fields = as_object(plain)
    return ops.TrialRow(
        record=read_record(fields["record"]),
        present=_read_outlook(fields["present"]),
        tried=_read_outlook(fields["tried"]),
    )


def _outlook_to_plain(outlook: ops.Outlook) -> Plain:
    return {
        "action": outlook.action.value,
        "rule": outlook.rule,
        "reason": outlook.reason,
        "judged": outlook.judged,
    }


def _read_outlook(plain: JsonValue) -> ops.Outlook:
    fields = as_object(plain)
    return ops.Outlook(
        action=Action(as_text(fields["action"])),
        rule=as_text(fields["rule"]),
        reason=as_text(fields["reason"]),
        judged=flag(fields["judged"]),
    )


def backfill_to_plain(answer: ops.BackfillAnswer) -> Plain:
    """The runs that are, or with `dry_run` would be, captured."""
    return {"dry_run": answer.dry_run, "runs": list(answer.runs), "more": answer.more}


@reader
def backfill_from_plain(plain: JsonValue) -> ops.BackfillAnswer:
    """Read which runs are captured."""
    fields = as_object(plain)
    return ops.BackfillAnswer(
        runs=each(lambda run: RunId(as_text(run)), fields["runs"]),
        dry_run=flag(fields["dry_run"]),
        more=flag(fields["more"]),
    )


def deleted_run_memories_to_plain(answer: ops.DeletedRunMemories) -> Plain:
    """How many run memories are, or with `dry_run` would be, deleted."""
    return {
        "dry_run": answer.dry_run,
        "memories": answer.memories,
        "sessions": answer.sessions,
        "more": answer.more,
    }


@reader
def deleted_run_memories_from_plain(plain: JsonValue) -> ops.DeletedRunMemories:
    """Read how many run memories are deleted."""
    fields = as_object(plain)
    return ops.DeletedRunMemories(
        memories=as_whole(fields["memories"]),
        sessions=as_whole(fields["sessions"]),
        dry_run=flag(fields["dry_run"]),
        more=flag(fields["more"]),
    )


def work_to_plain(answer: ops.WorkAnswer) -> Plain:
    """How many jobs were done, wait, and have failed for good."""
    return {"done": answer.done, "waiting": answer.waiting, "dead": answer.dead}


@reader
def work_from_plain(plain: JsonValue) -> ops.WorkAnswer:
    """Read how the work went."""
    fields = as_object(plain)
    return ops.WorkAnswer(
        done=as_whole(fields["done"]), waiting=as_whole(fields["waiting"]), dead=as_whole(fields["dead"])
    )
