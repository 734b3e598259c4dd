"""`skill import`: a skill of somebody's, read as it stands in a file, with what is odd about it told."""

import os
from typing import Annotated

from runlore.cli import input_files, options
from runlore.cli.invocation import Invocation
from runlore.cli.skills.mount_updates import bring_mounts_up_to_date
from runlore.cli.tables.mount_tables import some_of
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.skill import Skill
from runlore.ports import operations as ops

_FILE = "SKILL.md"
_FILE_MIB_MAX = 1
_ADDRESSES = ("http://", "https://", "git@", "ssh://", "git://")
_SAME_SHOWN = 3


def import_skill(
    call: Invocation,
    path: Annotated[str, argument("PATH", f"A {_FILE}, a folder with one, or - for standard input.")],
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
    file = os.path.join(path, _FILE) if is_folder else path
    request = ops.ImportSkill(
        text=input_files.text_of(
            file,
            mib_max=_FILE_MIB_MAX,
            too_large="it is not a skill",
            refused=_file_error,
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
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = operations.list_skills(ops.SkillsRequest(limit=limits.LIST_LIMIT_MAX, cursor=cursor))
        found += [
            each.name
            for each in page.items
            if each.skill_id != skill.skill_id and each.document.body.strip() == skill.document.body.strip()
        ]
        cursor = page.next_cursor
        if cursor is None:
            return found


def _show(skill: Skill, text: str, folder: str) -> None:
    from runlore.daemon.skills.file_text import files_beside, remarks_on

    for remark in remarks_on(text):
        say(f"  {remark}", "yellow")
    left = files_beside(folder) if folder else ()
    if left:
        say(f"  not brought in, only {_FILE} is: {some_of(left)}", "yellow")
    if skill.provenance.tainted:
        say("It comes from outside, so no agent gets it yet. Read it, then let them have it:", "dim")
        say(f"  runlore skill accept {skill.name}", "dim")


def _shorten_path(path: str) -> str:
    """A path whose end says the most."""
    return path if len(path) <= limits.ID_CHARS_MAX else f"…{path[1 - limits.ID_CHARS_MAX :]}"


def _file_error(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="skill.file", hint=hint)
