"""Skills as they are kept: listed, read, matched, accepted, written out, taken away."""

import os
import stat
from contextlib import suppress
from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks
from runlore.cli.skills.mount_updates import bring_mounts_up_to_date
from runlore.cli.tables import library_tables
from runlore.cli.tables.mount_tables import show_left_behind, some_of
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, NotFound, Refused, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, RecordId
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill, SkillOrigin, SkillState
from runlore.domain.skills.skill_curation import CurationId
from runlore.ports import operations as ops
from runlore.ports.operations import Keep
from runlore.ports.operations.paging import paginate

SkillArgument = Annotated[str, argument("NAME", "The skill's name, or its id.", completes="skill")]
_FILE = "SKILL.md"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True)
class SkillOptions:
    """What the list of skills narrows by."""

    states: Annotated[
        frozenset[SkillState],
        options.any_of(f"{options.STATE_NAMES} STATE", SkillState, "state", otherwise="active"),
    ] = frozenset()
    origins: Annotated[
        frozenset[SkillOrigin],
        options.any_of("--origin ORIGIN", SkillOrigin, "origin", about="Only of this origin"),
    ] = frozenset()
    session: Annotated[SessionId | None, option("--session ID", "Only those that this session may use.")] = (
        None
    )


def list_skills(call: Invocation, where: SkillOptions, page: options.PageOptions) -> None:
    """List skills by name.

    The active ones unless a state is named. One from outside reaches no agent until it is accepted.
    """
    request = ops.SkillsRequest(
        states=where.states,
        origins=where.origins,
        limit=page.limit,
        cursor=page.cursor,
    )
    with call.operations() as operations:
        if where.session is None:
            found = operations.list_skills(request)
        else:
            _refuse_narrowing(where, page)
            found = ops.SkillPage(items=operations.session_skills(where.session))
    call.answer(answers.write(found), lambda: library_tables.show_skills(found.items, found.next_cursor))


def view(call: Invocation, name: SkillArgument) -> None:
    """Show one skill.

    What it says, where it comes from, and how the runs went that used it.
    """

    def show(skill: Skill) -> None:
        library_tables.show_skill(skill, beside=_beside(call, skill))
        library_tables.show_remarks([skill])

    call.ask(lambda operations: operations.get_skill(name), show)


def match(
    call: Invocation,
    query: Annotated[tuple[str, ...], argument("QUERY", "What an agent is asked to do; all words count.")],
    session: Annotated[
        SessionId | None, option("--session ID", "Only those that this session may use.")
    ] = None,
    limit: Annotated[
        int | None, options.number("--limit N", "How many at most; as many as the policy gives a prompt.")
    ] = None,
) -> None:
    """Show which skills fit a request, and why.

    Those that are always there, then the best of the others, with the reasons of each score.
    """
    request = ops.MatchRequest(query=" ".join(query), session_id=session, limit=limit)
    call.ask(lambda operations: operations.match_skills(request), library_tables.show_fitting)


def log(
    call: Invocation,
    page: options.PageOptions,
    name: Annotated[str | None, argument("NAME", "Only what happened to this one.")] = None,
) -> None:
    """Show what happened to skills, the newest first.

    What was saved, declined, suppressed, skipped, edited, accepted, promoted, merged, deleted or brought
    back, and why.
    """
    request = ops.SkillLogRequest(name=name, limit=page.limit, cursor=page.cursor)
    call.ask(
        lambda operations: operations.skill_log(request), lambda found: library_tables.show_log(found, name)
    )


def accept(
    call: Invocation,
    name: SkillArgument,
    *,
    force: Annotated[bool, option("--force", "I have read it and want my agents to.")] = False,
    expected_revision: options.ExpectedOption = None,
    reason: options.ReasonOption = "",
    idempotency_key: options.KeyOption = None,
) -> None:
    """Let a skill from outside reach agents, after reading it.

    Without --force it is shown, all of what agents would get, and refused with the sources named. The act is
    logged. With --expected-revision nothing is accepted but what was shown; a skill whose file somebody wrote
    or edited needs it.
    """
    from runlore.daemon.skills.file_text import render_skill

    request = ops.AcceptSkill(
        name=name,
        force=force,
        reason=reason,
        expected_revision=expected_revision,
        idempotency_key=idempotency_key,
    )
    with call.operations() as operations:
        before = operations.get_skill(name)
        try:
            skill = operations.accept_skill(request)
        except Refused:
            if not call.as_json:
                library_tables.show_given(before, render_skill(before))
            raise
        if skill != before:
            bring_mounts_up_to_date(call, operations)
    told = f"Accepted {skill.name}" if skill != before else f"{skill.name} reaches agents already"
    call.answer(answers.write(skill), lambda: say(told))


def export(
    call: Invocation,
    name: SkillArgument,
    to: Annotated[str, option("--to FOLDER", "Where its folder is written; here if left out.")] = ".",
) -> None:
    """Write a skill as a folder with its SKILL.md.

    Nothing is overwritten. One from outside is accepted first. Other files of its folder are not brought
    along, and are named.
    """
    from runlore.daemon.skills.file_text import render_skill

    with call.operations() as operations:
        skill = operations.get_skill(name)
    if skill.provenance.tainted:
        hint = f"`runlore skill accept {skill.skill_id}` shows it, and lets it out"
        raise Refused(f"skill {skill.name} comes from outside", code="skill.not-usable", hint=hint)
    if not skill.is_usable:
        hint = f"`runlore skill restore {skill.skill_id}` brings it back"
        raise Refused(f"skill {skill.name} is gone", code="skill.not-usable", hint=hint)
    path, is_new = write_skill(to, skill.name, render_skill(skill))
    left = _beside(call, skill)

    def show() -> None:
        say(f"Wrote {path}" if is_new else f"{path} says the same already")
        show_left_behind({skill.name: left} if left else {})

    call.answer({"name": skill.name, "path": path, "not_brought_along": list(left)}, show)


def delete(call: Invocation, name: SkillArgument) -> None:
    """Take a skill away, with its file.

    A file that was changed since Runlore last read it stays. `skill restore` brings the skill back.
    """
    with call.operations() as operations:
        before = skill_or_none(operations, name)
        skill = operations.delete_skill(name)
        bring_mounts_up_to_date(call, operations)
        left = [] if call.as_json else _remembered_as(operations, skill.name)
    was_there = before is not None and before.is_there

    def show() -> None:
        told = f"Deleted {skill.name}" if was_there else f"{skill.name} was gone already"
        say(f"{told}  {skill.skill_id}")
        say(f"To bring it back: runlore skill restore {skill.skill_id}", "dim")
        for record_id in left:
            say(f"Still in memory, until: runlore memory rollback {record_id}", "dim")

    call.answer(answers.write(skill), show)


def _remembered_as(operations: ops.Operations, name: str) -> list[RecordId]:
    """The procedures in use that were kept with a skill of this name."""
    asked = ops.ListRequest(
        filters=ops.Filters(kinds=frozenset({Kind.PROCEDURE})), limit=limits.LIST_LIMIT_MAX
    )
    found = paginate(operations.list_records, asked)
    return [record.record_id for record in found if record.metadata.get("workflow") == name]


def restore(call: Invocation, name: SkillArgument) -> None:
    """Bring back a skill that was deleted or merged."""
    with call.operations() as operations:
        before = skill_or_none(operations, name)
        skill = operations.restore_skill(name)
        bring_mounts_up_to_date(call, operations)
    told = "was there all the time" if before == skill else "is back"
    call.answer(answers.write(skill), lambda: say(f"{skill.name} {told}  {skill.skill_id}"))


def settle(
    call: Invocation,
    name: SkillArgument,
    *,
    keep: Annotated[
        Keep,
        option(
            "--keep WHICH",
            "file: as it is; stored: write the stored text again.",
            options.one_of(Keep, "text to keep"),
        ),
    ],
) -> None:
    """Say which text of a skill stands.

    A file that ends before its skill does was shortened by somebody, or by a disk: Runlore does not guess.
    """
    with call.operations() as operations:
        skill = operations.settle_skill_file(ops.SettleFile(name=name, keep=keep))
        bring_mounts_up_to_date(call, operations)

    def show() -> None:
        says = "takes its file as it is" if keep is Keep.FILE else "stands as it is stored"
        say(f"{skill.name} {says}.")
        library_tables.show_remarks([skill])

    call.answer(answers.write(skill), show)


def skill_or_none(operations: ops.Operations, name: str) -> Skill | None:
    with suppress(NotFound):
        return operations.get_skill(name)
    return None


def _beside(call: Invocation, skill: Skill) -> tuple[str, ...]:
    """What lies beside the skill's file; nothing is known of the folders of a Runlore elsewhere."""
    from runlore.daemon.skills.mounting import list_uncopied_files

    settings = call.settings()
    if settings.url or not skill.is_there:
        return ()
    return list_uncopied_files(settings.state_root, [skill.name]).get(skill.name, ())


def _refuse_narrowing(where: SkillOptions, page: options.PageOptions) -> None:
    if where.states or where.origins or page.cursor is not None:
        raise Invalid(
            "--session lists all that a session may use, and takes no state, origin or cursor",
            code="usage",
            hint="leave those out, or leave out --session",
        )


def write_skill(folder: str, name: str, text: str) -> tuple[str, bool]:
    """Write `folder/name/SKILL.md`; the path of it, and whether it was not there before. What stands there is
    never overwritten, and a link in the place of the skill's folder or file is never followed."""
    if not folder or "\0" in folder:
        raise Invalid(
            f"{folder!r:.300} is no path that there can be",
            code="export.path",
            hint="name a folder with --to",
        )
    target = os.path.join(os.path.abspath(folder), name)
    path = os.path.join(target, _FILE)
    try:
        os.makedirs(target, exist_ok=True)
        if os.path.islink(target):
            raise _exists(target, "is a link")
        opened = os.open(target, _FOLDER)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        return path, _write(opened, path, text.encode())
    finally:
        os.close(opened)


def _write(folder: int, path: str, content: bytes) -> bool:
    try:
        file = os.open(_FILE, _NEW, 0o644, dir_fd=folder)
    except FileExistsError:
        if not _is_same(folder, content):
            raise _exists(path, "is there already, and says something else") from None
        return False
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        return True
    except OSError as error:
        with suppress(OSError):
            os.unlink(_FILE, dir_fd=folder)
        raise _unwritable(path, error) from error


def _is_same(folder: int, content: bytes) -> bool:
    """The same text a second time is no conflict."""
    try:
        with os.fdopen(os.open(_FILE, _OLD, dir_fd=folder), "rb") as opened:
            is_file = stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
            return is_file and opened.read(len(content) + 1) == content
    except OSError:
        return False


def _exists(path: str, what: str) -> Conflict:
    return Conflict(
        f"{path} {what}",
        code="export.exists",
        hint="move it away, or name another folder with --to",
    )


def _unwritable(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"{path!r:.300} cannot be written: {error.strerror or error}",
        code="export.write",
        hint="name a folder that you may write to and that has room",
    )


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


@asks(library_tables.show_undone, then=bring_mounts_up_to_date)
def undo_curation(
    curation_id: Annotated[CurationId | None, argument("ID", "The curation; the newest if left out.")] = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Put back what a curation did.

    Byte for byte as it was; refused where one of its skills was changed since.
    """


@asks(library_tables.show_curations)
def list_curations(limit: options.LimitOption = limits.LIST_LIMIT_DEFAULT) -> None:
    """List what curation did, the newest first.

    Each can be undone by its id.
    """


SKILL_FILE = "SKILL.md"
_FILE_MIB_MAX = 1
_ADDRESSES = ("http://", "https://", "git@", "ssh://", "git://")
_SAME_SHOWN = 3


def import_skill(
    call: Invocation,
    path: Annotated[str, argument("PATH", f"A {SKILL_FILE}, a folder with one, or - for standard input.")],
    name: Annotated[str | None, option("--name NAME", "What it shall be called here.")] = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Bring a skill of somebody's in.

    It reaches no agent until you have read and accepted it. A name that is taken gets a number. Of a folder
    the SKILL.md alone is brought in.
    """
    if path.lower().startswith(_ADDRESSES):
        raise Invalid(
            "a skill is brought in from a file or a folder of this machine, and nothing is fetched",
            code="skill.address",
            hint="download it or `git clone` what it is in, and name the folder: runlore skill import FOLDER",
        )
    is_folder = path != "-" and os.path.isdir(path)
    file = os.path.join(path, SKILL_FILE) if is_folder else path
    request = ops.ImportSkill(
        text=options.read_text(
            file,
            mib_max=_FILE_MIB_MAX,
            too_large="it is not a skill",
            code="skill.file",
            follow_links=not is_folder,
        ),
        source="standard input" if path == "-" else _shorten_path(os.path.abspath(file)),
        name=name,
        idempotency_key=idempotency_key,
    )
    with call.operations() as operations:
        skill = operations.import_skill(request)
        same = _saying_the_same(operations, skill)
        bring_mounts_up_to_date(call, operations)

    def show() -> None:
        did = f"{skill.name} was there already" if skill.was_there_before else f"Imported {skill.name}"
        say(f"{did}  {skill.skill_id}")
        if same:
            say(f"  it says the same as {', '.join(same[:_SAME_SHOWN])}: one of them is enough", "yellow")
        _show(skill, request.text, path if is_folder else "")

    call.answer(answers.write(skill), show)


def _saying_the_same(operations: ops.Operations, skill: Skill) -> list[str]:
    return [
        each.name
        for each in paginate(operations.list_skills, ops.SkillsRequest(limit=limits.LIST_LIMIT_MAX))
        if each.skill_id != skill.skill_id and each.document.body.strip() == skill.document.body.strip()
    ]


def _show(skill: Skill, text: str, folder: str) -> None:
    from runlore.daemon.skills.file_text import files_beside, remarks_on

    for remark in remarks_on(text):
        say(f"  {remark}", "yellow")
    left = files_beside(folder) if folder else ()
    if left:
        say(f"  not brought in, only {SKILL_FILE} is: {some_of(left)}", "yellow")
    if skill.provenance.tainted:
        say("It comes from outside, so no agent gets it yet. Read it, then let them have it:", "dim")
        say(f"  runlore skill accept {skill.name}", "dim")


def _shorten_path(path: str) -> str:
    """A path whose end says the most."""
    return path if len(path) <= limits.ID_CHARS_MAX else f"…{path[1 - limits.ID_CHARS_MAX :]}"
