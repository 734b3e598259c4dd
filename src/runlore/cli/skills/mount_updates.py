"""What follows a change of skills on the command line: the folders where they are mounted are brought up to
date, and whoever looks on is told what could not be."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from runlore.cli.terminal import say
from runlore.domain.errors import RunloreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runlore.cli.invocation import Invocation
    from runlore.ports import operations as ops

CommandT = ParamSpec("CommandT")


def mounts_following(
    body: Callable[Concatenate[Invocation, CommandT], None],
) -> Callable[Concatenate[Invocation, CommandT], None]:
    """A command after which the skills of a Runlore elsewhere that are mounted here are brought up to date.
    Those of the own state root follow by themselves."""

    @functools.wraps(body)
    def run(call: Invocation, /, *args: CommandT.args, **options: CommandT.kwargs) -> None:
        from runlore.daemon.skills.mounting import MountManager

        body(call, *args, **options)
        settings = call.settings()
        if settings.url and MountManager(settings.state_root, source=settings.url).folders():
            with call.operations() as operations:
                bring_mounts_up_to_date(call, operations)

    return run


def bring_mounts_up_to_date(call: Invocation, operations: ops.Operations) -> None:
    """After a change. It is done whatever becomes of the copies: they are mended by the next one."""
    from runlore.daemon.skills.mounting import MountManager, usable_skills

    settings = call.settings()
    try:
        mounting = MountManager(settings.state_root, source=settings.url or "")
        if not mounting.folders():
            return
        problems = mounting.refresh(usable_skills(operations)).problems
    except RunloreError as failure:
        problems = (("the folders of your agents", failure),)
    if not call.as_json:
        for folder, problem in problems:
            say(
                f"Not up to date: {folder} ({problem.sentence}). `runlore skill mount` tries again.", "yellow"
            )
