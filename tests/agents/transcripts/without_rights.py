"""Looks for transcripts as a user to whom not all is allowed.

    python -m tests.agents.transcripts.without_rights FOLDER

A process of its own, because whoever runs the tests may be one whom nothing is denied.
"""

import os
import sys
from dataclasses import replace

from runlore.domain.runs.transcript import ReadCounts, TranscriptAgent
from tests.agents.transcripts.transcript_files import local

_NOBODY = 65534


def main(top: str) -> None:
    """Print what is found, and what reading each of them counts."""
    if os.geteuid() == 0:
        os.seteuid(_NOBODY)
    for source in local().find([top]):
        counts = ReadCounts()
        claimed = replace(source, agent=TranscriptAgent.CLAUDE_CODE)
        runs = len(list(local().read(claimed, counts)))
        print(os.path.relpath(source.path, top), source.problem, runs, counts.lines_skipped, sep="|")


if __name__ == "__main__":
    main(sys.argv[1])
