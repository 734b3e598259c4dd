"""Which project a working folder belongs to: its git remote, else its repository's root, else itself.

A remote names one project however it is spelt (https, ssh, scp-like); credentials in it are never kept.
What the folder, its repository and its `.runlore.toml` hold is read elsewhere and handed in.
"""

import hashlib
import re
import unicodedata
from datetime import datetime
from typing import TYPE_CHECKING, NewType
from urllib.parse import urlsplit

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.text.excerpt import excerpt

if TYPE_CHECKING:
    import tomllib

    from runlore.domain.privacy import redaction
else:
    tomllib = LazyModule("tomllib")
    redaction = LazyModule("runlore.domain.privacy.redaction")

FolderId = NewType("FolderId", str)

PROJECT_FILE = ".runlore.toml"
PROJECT_FILE_CHARS_MAX = 16_384
REMOTE_CHARS_MAX = 2_000
PROJECT_NAME_CHARS_MAX = 60


@dataclass(frozen=True, kw_only=True)
class ProjectFile:
    """What a `.runlore.toml` proposes: `project = "NAME"`, `capture = false`; keys that mean nothing are
    `unknown`. It counts where an operator has bound the folder to it."""

    name: str | None = None
    capture: bool = True
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FolderBinding:
    """What an operator has settled about a folder and all below it: the project that it belongs to, and
    whether what happens there is kept. None is not settled."""

    folder_id: FolderId
    project: str | None = None
    capture: bool | None = None
    updated_at: datetime
    revision: int = 1


def folder_id(path: str) -> FolderId:
    """The id of a folder, by its path without links alone: no file in it has a say."""
    return FolderId(f"folder-{_digest(_normal_path(_with_worktrees(path)))}")


def parse_folder_id(text: str) -> FolderId:
    """A folder's id; that of a project that is called by its repository's path names the same folder."""
    if not _FOLDER.fullmatch(text):
        raise Invalid(
            "this is no folder's id: it is `folder-` and 32 hexadecimal digits",
            code="folder.id",
            hint="`runlore folder bind PATH` shows the id of a folder",
        )
    return FolderId(f"folder-{text.rpartition('-')[2]}")


def project_id(*, remote: str | None, repository_root: str | None, folder: str) -> str:
    """The id of a folder's project: the remote's normal form, else a hash of the root's or folder's path. A
    worktree that lies in a repository's folder is that repository's."""
    normal = normalise_remote(remote) if remote else None
    if normal is not None:
        return normal if len(normal) <= limits.ID_CHARS_MAX else f"remote-{_digest(normal)}"
    if repository_root and repository_root.strip():
        return f"repository-{_digest(_normal_path(_with_worktrees(repository_root)))}"
    if folder.strip():
        return f"folder-{_digest(_normal_path(_with_worktrees(folder)))}"
    raise Invalid(
        "the working folder is blank", code="project.folder", hint="give the absolute path of the folder"
    )


def project_name(project: str, folder: str = "") -> str:
    """What people call a project: its id, or where that is a hash the last part of its folder's path; empty
    where nobody knows. Whose home a folder is says who somebody is, so that such a one has no name."""
    if not _DERIVED.fullmatch(project):
        return project
    parts = [part for part in _SLASHES.split(_with_worktrees(folder)) if part.strip()]
    if not parts or _HOME.fullmatch("/".join(parts[-2:])):
        return ""
    name = parts[-1]
    if not any(map(str.isalpha, name)) and len(parts) > 1 and not _HOME.fullmatch("/".join(parts[-3:-1])):
        # Copies of a repository are often only numbered.
        name = f"{parts[-2]}/{name}"
    visible = "".join(char if char.isprintable() else " " for char in name)
    return excerpt(redaction.redact_text(" ".join(visible.split())).text, PROJECT_NAME_CHARS_MAX)


def normalise_remote(url: str) -> str | None:
    """`host/path` of a git remote; None where it names no repository on a host.

    Scheme, credentials, query, default port, outer slashes and `.git` do not matter, nor does the host's
    case. The path's case does, except on hosts that are known to ignore it. A port that is not the default
    stays: behind another port may be another server. A local path or `file://` is none: it means nothing
    on another machine. So is one with an `@` behind the host: what stands there may be a password.
    """
    text = url.strip()
    if (
        not text
        or len(text) > REMOTE_CHARS_MAX
        or any(char.isspace() or not char.isprintable() for char in text)
    ):
        return None
    place = _place_of_url(text) if "://" in text else _place_of_scp(text)
    if place is None:
        return None
    host, path = _SAME_HOST.get(place[0], place[0]), _normal_repository(place[1])
    if not path:
        return None
    return f"{host}/{path.casefold() if host in _CASELESS_HOSTS else path}"


def parse_project_file(text: str) -> ProjectFile:
    """Read a `.runlore.toml`. It comes with a repository, perhaps a stranger's: what it says wrongly is
    refused, and keys that nobody knows are told, for whoever warns of them."""
    plain = _toml(text)
    unknown = tuple(key for key in plain if key not in ("project", "capture"))
    name, capture = plain.get("project"), plain.get("capture", True)
    if not isinstance(capture, bool):
        raise _bad_file("has a capture that is neither true nor false", code="project-file.capture")
    return ProjectFile(name=None if name is None else _name(name), capture=capture, unknown=unknown)


# Forges that answer to any spelling of owner and repository.
_CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
# Other doors to the same repositories, for networks that let only port 443 through.
_SAME_HOST = {
    "www.github.com": "github.com",
    "ssh.github.com:443": "github.com",
    "altssh.gitlab.com:443": "gitlab.com",
    "altssh.bitbucket.org:443": "bitbucket.org",
}
_DEFAULT_PORTS = {
    "https": 443,
    "http": 80,
    "ssh": 22,
    "git": 9418,
    "git+ssh": 22,
    "ssh+git": 22,
    "git+https": 443,
    "git+http": 80,
}
_HOST = re.compile(r"\[[0-9a-f:.%]+\]|[^\W_][\w.-]*")


def _place_of_url(text: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in _DEFAULT_PORTS:
        return None
    server = parts.netloc.rpartition("@")[2]
    name = server if port is None else server[: server.rindex(":")]
    host = _normal_host(name.rstrip(":"))
    if host and port not in (None, _DEFAULT_PORTS[parts.scheme.lower()]):
        host = f"{host}:{port}"
    return (host, f"{parts.path}?{parts.query}#{parts.fragment}") if host else None


def _place_of_scp(text: str) -> tuple[str, str] | None:
    """`user@host:path`. A slash before the colon is a path, one letter before it a drive."""
    before_slash = text.partition("/")[0]
    start = before_slash.find("@") + 1
    server, colon, path = text[start:].partition("]:" if text[start : start + 1] == "[" else ":")
    if not colon or "/" in server or "\\" in text:
        return None
    host = _normal_host(server + colon[:-1])
    return (host, path) if len(host) > 1 else None


def _normal_host(host: str) -> str:
    host = host.lower().rstrip(".")
    return host if _HOST.fullmatch(host) else ""


def _normal_repository(path: str) -> str:
    if "@" in path:
        return ""
    parts = [part for part in re.split("[?#]", path, maxsplit=1)[0].split("/") if part]
    if parts and parts[-1] != ".git":
        parts[-1] = parts[-1].removesuffix(".git")
    elif parts:
        parts.pop()
    return "" if {".", ".."} & set(parts) else "/".join(parts)


def _normal_path(path: str) -> str:
    """One spelling for a folder: macOS writes accents apart, and shells add slashes."""
    return unicodedata.normalize("NFC", path).rstrip("/") or "/"


def _with_worktrees(path: str) -> str:
    """The folder of the repository whose worktree a path is, where the path tells."""
    found = _WORKTREES.search(path)
    return path[: found.start()] if found and path[: found.start()].strip() else path


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _toml(text: str) -> dict[str, object]:
    if len(text) > PROJECT_FILE_CHARS_MAX:
        raise _bad_file(f"has more than {PROJECT_FILE_CHARS_MAX:,} characters", code="project-file.size")
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "too deep or too large"
        raise _bad_file(f"is not TOML: {problem}", code="project-file.toml") from None


def _name(name: object) -> str:
    """A name that no derived id can have, so that a cloned repository cannot pass itself off as another."""
    if not isinstance(name, str) or not name.strip() or name != name.strip() or not name.isprintable():
        raise _bad_file("has a project that is not a printable name without outer spaces", code=_NAME_CODE)
    if len(name) > limits.ID_CHARS_MAX:
        raise _bad_file(f"has a project of more than {limits.ID_CHARS_MAX} characters", code=_NAME_CODE)
    if "/" in name or _DERIVED.fullmatch(name):
        raise _bad_file(
            f"has the project {name!r}, which is how a folder without a name is called", code=_NAME_CODE
        )
    return name


_NAME_CODE = "project-file.name"
_FOLDER = re.compile("(folder|repository)-[0-9a-f]{32}")
_DERIVED = re.compile("(remote|repository|folder)-[0-9a-f]{32}")
# Where agents and people put the worktrees of a repository, inside of it.
_WORKTREES = re.compile(r"[\\/](?:\.claude[\\/]worktrees|\.worktrees)[\\/]")
_SLASHES = re.compile(r"[\\/]")
_HOME = re.compile("(?:home|Users)/[^/]*|root|home|Users|[A-Za-z]:")


def _bad_file(problem: str, *, code: str) -> Invalid:
    return Invalid(
        f"{PROJECT_FILE} {problem}",
        code=code,
        hint='it may hold two lines: project = "NAME" (without a slash) and capture = false',
    )
