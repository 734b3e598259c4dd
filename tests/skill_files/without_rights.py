"""Writes skills as a user who may not: `python -m tests.skill_files.without_rights FOLDER`.

A process of its own, because whoever runs the tests may be one whom nothing is denied.
"""

import os
import sys

from runlore.domain.errors import Unavailable
from runlore.domain.guard.entry import without_secret
from runlore.skill_files.mount_lists import MountLists
from runlore.skill_files.mounts import FolderMounts
from runlore.skill_files.root import SkillRoot
from tests.skill_files.skill_folders import text_of

_NOBODY = 65534


def main(top: str) -> None:
    """Print what is found, and what writing, taking, removing and mounting are answered."""
    # Loaded before the rights are gone: nobody may read the interpreter's own files.
    without_secret("the text", "none")
    if os.geteuid() == 0:
        os.seteuid(_NOBODY)
    root, mounts = SkillRoot(top), FolderMounts(MountLists(top))
    for found in root.scan():
        print(found.folder, found.standing.value, found.problem)
    for act in (
        lambda: root.put("pdf", text_of("pdf", "new")),
        lambda: root.put("new", text_of("new")),
        lambda: root.take("csv"),
        lambda: root.remove("pdf"),
        lambda: root.mirror_skips({}),
        lambda: mounts.sync(os.path.join(top, ".agents", "skills"), {"pdf": text_of("pdf")}),
    ):
        try:
            act()
        except Unavailable as error:
            print(error.code)
        else:
            print("done")


if __name__ == "__main__":
    main(sys.argv[1])
