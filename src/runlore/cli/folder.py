"""`runlore folder`: which project a working folder belongs to, and whether what happens there is kept."""

import os
from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation, command
from runlore.cli.options import folder_of
from runlore.cli.tables.table_cells import show_fields
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.daemon.calls.working_folders import proposal_of
from runlore.domain.project import FolderBinding, folder_id
from runlore.ports import operations as ops

folder = group("Which project a working folder belongs to, and whether what happens there is kept.")

PathArgument = Annotated[str, argument("PATH", "The folder; here, if left out.")]


@command(folder, "show")
def show(call: Invocation, path: PathArgument = os.curdir) -> None:
    """Show what a folder is bound to."""
    name = folder_id(os.path.realpath(folder_of(path)))
    call.ask(lambda operations: operations.get_folder(name), lambda found: show_fields(answers.write(found)))


@command(folder, "bind")
def bind(
    call: Invocation,
    path: PathArgument = os.curdir,
    *,
    project: Annotated[str | None, option("--project NAME", "The project that it belongs to.")] = None,
    keep: Annotated[bool, option("--capture", "Keep what happens there.")] = False,
    no_capture: Annotated[bool, option("--no-capture", "Keep nothing of what happens there.")] = False,
    expected_revision: options.ExpectedOption = None,
) -> None:
    """Bind a folder to a project, or keep nothing of what happens there.

    It holds for all folders below it, and replaces an earlier binding. Without an option the folder is bound
    to what its .runlore.toml says.
    """
    place = os.path.realpath(folder_of(path))
    capture = False if no_capture else True if keep else None
    if project is None and capture is None:
        said = proposal_of(place)
        project, capture = said.name, None if said.capture else False
    change = ops.FolderChange(
        folder_id=folder_id(place),
        project=project,
        capture=capture,
        expected_revision=expected_revision,
    )
    call.ask(lambda operations: operations.put_folder(change), _tell_bound)


def _tell_bound(made: FolderBinding) -> None:
    kept = {None: "as elsewhere", True: "kept", False: "not kept"}[made.capture]
    of = f"project {made.project}" if made.project else "no project by name"
    say(f"Bound {made.folder_id}: {of}; what happens there is {kept}.")
