"""What lies beside a SKILL.md in its folder: scripts and texts that people put there, and that stay there."""

import os

FILE = "SKILL.md"
_FILES_MAX = 1_000


def files_beside(folder: str) -> tuple[str, ...]:
    """The other files of a skill's folder, as paths below it; no link is followed, and what is hidden is
    nobody's."""
    if os.path.islink(folder):
        return ()
    found: list[str] = []
    for within, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.relpath(os.path.join(within, name), folder)
            if path != FILE and not name.startswith("."):
                # A name that is no text is shown with question marks in place of what is none.
                found.append(path.encode(errors="replace").decode())
            if len(found) >= _FILES_MAX:
                return tuple(found)
    return tuple(found)
