"""Worktrees made by git: added, set apart from their repository, compared, and forgotten again.

Every git command runs as confined as those of an agent, because the repository's settings may name programs
and an agent may have written them. A worktree that was added is given a repository of its own, which reads
the objects of the real one and keeps everything new beside the copy: what a child agent commits, branches or
breaks in there never reaches the repository that it came from.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Event

from runlore.agents.workspace.output import NUL_SHOWN
from runlore.agents.workspace.private_folder import is_filter, settings_text
from runlore.agents.workspace.repository import WORKTREES_OF, Repository, open_folder, records_of
from runlore.agents.workspace.safe_paths import folder_below, read_bytes
from runlore.agents.workspace.shell import Command, CommandLimits, CommandRunner
from runlore.agents.workspace.tree_removal import remove_tree
from runlore.agents.workspace.worktree_slots import WorktreeSlot, new_file
from runlore.domain import limits
from runlore.domain.errors import RunloreError
from runlore.domain.text.safe_text import escape

OWN_REPOSITORY = "git"
_SAFELY = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
_PLAINLY = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
# Large files that are kept elsewhere stay pointers in a copy: nobody waits for all of them.
_FAST = {"GIT_LFS_SKIP_SMUDGE": "1"}
_STATUS_CHARS_MAX = 200_000
# What is listed of changed files, and all else that is read whole.
_ANSWER_CHARS_MAX = 32 * 1024**2
# Larger files are not compared: one that is nothing but a size would take all the time there is.
COMPARED_BYTES_MAX = 64 * 1024**2
_LARGE_MAX = 100
_NOT_IN_TIME = "[not all of it could be compared in time]\n"
_INDEX_BYTES_MAX = 256 * 1024**2
# What of a repository's settings its copy needs to look the same.
_COPIED = frozenset(
    {"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.autocrlf"}
    | {"core.eol", "core.safecrlf", "extensions.objectformat", "user.name", "user.email"}
)
_NEW_FORMAT = (("core.repositoryformatversion", "1"), ("core.bare", "false"))


@dataclass(frozen=True, kw_only=True)
class AddedWorktree:
    """A worktree that was added: the commit it began with, the name that git keeps it under, and where in
    it the working folder is."""

    commit: str
    record: str
    prefix: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Within:
    """Where a git command works and what it may write; nothing, in the repository's own files, by itself."""

    folder: int | None = None
    writable: Sequence[int] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


class Git:
    """Git commands about one repository."""

    def __init__(self, shell: CommandRunner, repository: Repository) -> None:
        self._shell = shell
        self._repository = repository
        self._objects = os.path.join(repository.common, "objects")

    def add(self, place: WorktreeSlot, prefix: tuple[str, ...]) -> AddedWorktree | None:
        """Add a worktree at an empty place; None where git cannot, or has no commit with the folder in it."""
        with suppress(OSError, RunloreError), open_folder(self._repository.common) as common:
            commit = self._query("rev-parse", "--verify", "-q", "HEAD^{commit}").strip()
            if not commit:
                return None
            adding = ("worktree", "add", "--detach", "-q", place.path, commit)
            with self._records(common) as kept:
                self._query(*adding, within=_Within(writable=(kept, place.handle)))
            # A folder that is not in the commit is missing from the worktree, or something else.
            os.close(place.open(*prefix))
            records = records_of(self._repository.common, place.path)
            if len(records) == 1:
                self._set_apart(place, commit, records[0])
                return AddedWorktree(commit=commit, record=records[0], prefix=prefix)
        return None

    @contextmanager
    def _records(self, common: int) -> Iterator[int]:
        """What git writes to when it adds a worktree. Where commands in the folder write only a part of the
        repository, the programs that its settings name write no more: they may be what a command named."""
        if self._repository.git_dir == self._repository.common:
            yield common
        else:
            with folder_below(common, (WORKTREES_OF,)) as kept:
                yield kept

    def count_uncommitted(self, added: AddedWorktree) -> int:
        """How many files of the folder are changed or new since the commit, and so not in its worktree."""
        looking = ("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all")
        with suppress(OSError, RunloreError), open_folder(self._repository.top) as top:
            here = ("--no-optional-locks", f"--work-tree={self._repository.top}")
            only = ("--", "/".join(added.prefix) or ".")
            told = self._query(
                *here, *looking, *only, within=_Within(folder=top), chars_max=_STATUS_CHARS_MAX
            )
            return told.count(NUL_SHOWN)
        return 0

    def forget(self, place: WorktreeSlot) -> None:
        """Remove what git keeps about a worktree. Others that are missing by now are left: they may be on
        a disk that comes back."""
        records = records_of(self._repository.common, place.path)
        with suppress(OSError), open_folder(self._repository.common) as common:
            with folder_below(common, (WORKTREES_OF,)) as kept:
                for record in records:
                    with suppress(OSError):
                        remove_tree(kept, record)
            os.rmdir(WORKTREES_OF, dir_fd=common)

    def diff(self, added: AddedWorktree, place: WorktreeSlot, *, chars_max: int) -> str:
        """What was changed since the commit, one character more than wanted where there is more. What could
        not be compared is told before it.

        It is compared by a list of files that the child could not write."""
        name = f"diff-{os.urandom(6).hex()}"
        aside, copy = place.make_aside(name), place.open()
        try:
            self._copy_index(added.record, aside)
            os.mkdir("objects", 0o700, dir_fd=aside)
            apart = self._apart(os.path.join(place.aside_path, name))
            within = _Within(folder=copy, writable=(aside,), environment=apart)
            here = f"--work-tree={place.path}"
            listing = (here, "ls-files", "-m", "-o", "--exclude-standard", "-z")
            names = self._query(*listing, within=within).split(NUL_SHOWN)
            large = list(islice(_large(copy, names), _LARGE_MAX))
            but = [f":(exclude,top,literal){path}" for path, _ in large]
            adding = (here, "add", "-A", "--ignore-errors", "--", ".", *but)
            is_in_time = self._run(*adding, within=within)[1]
            comparing = (here, "diff", "--cached", *_PLAINLY, added.commit, "--")
            told = [f"[not compared: {escape(path)}, {size:,} bytes]\n" for path, size in large]
            told += [] if is_in_time else [_NOT_IN_TIME]
            return "".join(told) + self._query(*comparing, within=within, chars_max=chars_max)
        finally:
            os.close(copy)
            os.close(aside)
            with suppress(OSError):
                place.remove_aside(name)

    def _apart(self, folder: str) -> dict[str, str]:
        quoted = self._objects.replace("\\", "\\\\").replace('"', '\\"')
        return {
            "GIT_INDEX_FILE": os.path.join(folder, "index"),
            "GIT_OBJECT_DIRECTORY": os.path.join(folder, "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"',
        }

    def _set_apart(self, place: WorktreeSlot, commit: str, record: str) -> None:
        """Give a worktree a repository of its own beside it. The real one goes on knowing it as it was."""
        refs = self._query("for-each-ref", "--format=%(objectname) %(refname)")
        own = place.make_aside(OWN_REPOSITORY)
        try:
            for folder in ("objects", "refs", "info"):
                os.mkdir(folder, 0o700, dir_fd=own)
            with folder_below(own, ("objects",)) as objects:
                os.mkdir("info", 0o700, dir_fd=objects)
                with folder_below(objects, ("info",)) as info:
                    new_file(info, "alternates", os.fsencode(self._objects) + b"\n")
            new_file(own, "HEAD", f"{commit}\n".encode())
            new_file(own, "packed-refs", refs.encode())
            told = self._query("config", "--local", "--null", "--list").split(NUL_SHOWN)
            pairs = [(name, value) for name, _, value in (entry.partition("\n") for entry in told)]
            kept = [pair for pair in pairs if pair[0] in _COPIED or is_filter(pair[0])]
            new_file(own, "config", settings_text([*_NEW_FORMAT, *kept]).encode())
            self._copy_index(record, own)
            with suppress(OSError, RunloreError), open_folder(self._repository.common) as common:
                new_file(own, "shallow", read_bytes(common, "shallow", bytes_max=_INDEX_BYTES_MAX)[0])
        finally:
            os.close(own)
        with folder_below(place.handle, (place.name,)) as copy:
            os.unlink(".git", dir_fd=copy)
            leads = os.fsencode(os.path.join(place.aside_path, OWN_REPOSITORY))
            new_file(copy, ".git", b"gitdir: " + leads + b"\n")

    def _copy_index(self, record: str, folder: int) -> None:
        """Copy the list of files with its time: git looks again into files that are as young as the list, and
        would take one that was changed within the second of the checkout for unchanged by a younger list."""
        with (
            open_folder(self._repository.common) as common,
            folder_below(common, (WORKTREES_OF, record)) as kept,
        ):
            content, status = read_bytes(kept, "index", bytes_max=_INDEX_BYTES_MAX)
        new_file(folder, "index", content)
        os.utime("index", ns=(status.st_mtime_ns, status.st_mtime_ns), dir_fd=folder)

    def _query(
        self,
        *arguments: str,
        within: "_Within | None" = None,
        chars_max: int | None = None,
    ) -> str:
        """What a git command prints; nothing where it fails. Of much, the beginning, where as much is wanted,
        and else nothing: a part of it would say something else."""
        wanted = _ANSWER_CHARS_MAX if chars_max is None else chars_max
        text, _ = self._run(*arguments, within=within, chars_max=wanted)
        return "" if chars_max is None and len(text) > wanted else text

    def _run(
        self, *arguments: str, within: "_Within | None" = None, chars_max: int = _ANSWER_CHARS_MAX
    ) -> tuple[str, bool]:
        """What a git command prints, no more of it than is wanted, and whether it came to an end in time."""
        within = within or _Within()
        pieces: list[str] = []
        chars = 0
        enough = Event()

        def hear(piece: str) -> None:
            nonlocal chars
            pieces.append(piece)
            chars += len(piece)
            if chars > chars_max:
                enough.set()

        with open_folder(self._repository.common) as common, open_folder(self._repository.git_dir) as git_dir:
            command = Command(
                argv=["git", *_SAFELY, f"--git-dir={self._repository.git_dir}", *arguments],
                folder=common if within.folder is None else within.folder,
                readable=(common, git_dir, *(() if within.folder is None else (within.folder,))),
                writable=within.writable,
                # It may write more than a command, and so runs nothing that one has left.
                environment={**_FAST, "PATH": self._shell.own_path, **within.environment},
                errors=False,
            )
            bounds = CommandLimits(
                timeout_s=limits.WORKTREE_SETUP_S_MAX, stop=enough, output_chars_max=0, on_output=hear
            )
            result = self._shell.run(command, bounds)
        text = "".join(pieces) if result.exit_code == 0 or enough.is_set() else ""
        return text, not result.timed_out


def _large(copy: int, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Those files of a copy that are too large to be compared, with their sizes."""
    for name in names:
        *above, last = name.split("/")
        size = 0
        with suppress(OSError), folder_below(copy, tuple(above)) as folder:
            size = os.stat(last, dir_fd=folder, follow_symlinks=False).st_size
        if size > COMPARED_BYTES_MAX:
            yield name, size
