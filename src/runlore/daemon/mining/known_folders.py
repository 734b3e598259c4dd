"""What is known here of a folder that a transcript names: its project, and whether it may be learned from."""

from runlore.daemon.calls.working_folders import working_folder
from runlore.domain.errors import Invalid
from runlore.domain.runs.transcript import KnownFolder


def told_folder(path: str) -> KnownFolder:
    """A folder of a transcript, which may lie on another machine. Where a project file cannot be read, it may
    say no, and counts as a no."""
    if not path:
        return KnownFolder()
    try:
        folder = working_folder(path)
    except Invalid as error:
        return KnownFolder(capture=error.code == "session.folder")
    return KnownFolder(
        path=folder.path, project=folder.project, project_name=folder.name, capture=folder.capture
    )
