"""What is known here of a folder that a transcript names: its project, and whether it may be learned from."""

from runlore.daemon.folders import working_folder
from runlore.domain.errors import Invalid
from runlore.domain.transcript import ToldFolder


def told_folder(path: str) -> ToldFolder:
    """A folder of a transcript, which may lie on another machine. Where a project file cannot be read, it may
    say no, and counts as a no."""
    if not path:
        return ToldFolder()
    try:
        folder = working_folder(path)
    except Invalid as error:
        return ToldFolder(capture=error.code == "session.folder")
    return ToldFolder(
        path=folder.path, project=folder.project, project_name=folder.name, capture=folder.capture
    )
