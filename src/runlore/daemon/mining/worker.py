"""What each process does with a source. It imports no more than that takes: each of them starts anew."""

from functools import cache

from runlore.daemon.mining.local_transcripts import AllTranscripts
from runlore.daemon.mining.process_pool import ReportProgress
from runlore.daemon.mining.source_reader import FolderCache, SourceRead, look_up_folder, read_source
from runlore.domain.runs.transcript import TranscriptSource
from runlore.ports.transcripts import Transcripts


def read_here(source: TranscriptSource, progress: ReportProgress) -> SourceRead:
    """Read a source with the readers and the folders of this machine."""
    transcripts, folders = _own()
    return read_source(transcripts, source, folders, progress)


@cache
def _own() -> tuple[Transcripts, FolderCache]:
    return AllTranscripts(), FolderCache(look_up_folder)
