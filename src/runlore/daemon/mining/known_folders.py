"""What is known here of a folder that a transcript names: its project, and whether it may be learned from."""

from runlore.daemon.calls.working_folders import Bindings, proposal_of, working_folder
from runlore.domain.errors import Invalid
from runlore.domain.runs.transcript import KnownFolder


def told_folder(path: str, bound: Bindings = lambda _folder_id: None) -> KnownFolder:
    """A folder of a transcript, which may lie on another machine. Where its file says no, or cannot be read,
    it is left out until an operator binds the folder: perhaps nothing there was meant to be kept."""
    if not path:
        return KnownFolder()
    try:
        folder = working_folder(path, bound)
        captures = folder.capture and (folder.settled or proposal_of(folder.path).capture)
    except Invalid as error:
        return KnownFolder(capture=error.code == "session.folder")
    return KnownFolder(path=folder.path, project=folder.project, project_name=folder.name, capture=captures)
