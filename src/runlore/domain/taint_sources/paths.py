"""Files whose text is not the workspace's own: credentials and other secrets, and what others wrote."""

import re
from collections.abc import Iterator, Sequence
from posixpath import normpath

from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.lazy import dataclass
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind

PATH_CHARS_MAX = 4_096
# Where packages are put, in lower case.
PACKAGE_FOLDERS = (
    r"node_modules|site-packages|dist-packages|bower_components|vendor|third[_-]?party|pods|carthage"
    r"|\.venv|\.yarn|\.bundle|\.terraform|\.gem|\.cargo/(?:registry|git)|go/pkg/mod|\.m2/repository"
)
ELSEWHERE = Outside(
    kind=OutsideKind.OTHER_FOLDER,
    brings=Brings.TEXT,
    why="is no file of the working folder, whoever wrote it",
)
_SYSTEM = re.compile(r"/(?:etc|var|usr|opt|proc|sys|boot|root|mnt|media|library|system|volumes)(?:/|$)")
_IN_HOME, _BEFORE = re.compile(r"^\$\{?home\}?"), re.compile(r"^\$\{?oldpwd\}?")
_HOME = re.compile(r"/(?:home|users)/[^/]+|/root")


@dataclass(frozen=True, kw_only=True)
class PathRow:
    """Files by the shape of their path, in lower case with `/` between its parts, and why they count."""

    shows: str
    pattern: re.Pattern[str]
    outside: Outside


def _row(shows: str, pattern: str, why: str, *, kind: OutsideKind = OutsideKind.SENSITIVE_FILE) -> PathRow:
    return PathRow(
        shows=shows,
        pattern=re.compile(pattern),
        outside=Outside(kind=kind, brings=Brings.TEXT, why=why),
    )


PATHS: Sequence[PathRow] = (
    _row(
        ".env, .env.local, prod.env",
        r"(?:^|/)(?:\.env(?!\.(?:example|sample|template|dist|defaults?)\b)(?:\.[\w.-]+)?|[\w-]+\.env)$",
        "holds the settings and passwords of a service",
    ),
    _row(".envrc", r"(?:^|/)\.envrc$", "holds what is exported to every shell, passwords too"),
    _row(
        "id_rsa, id_ed25519 and anything in .ssh",
        r"(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|\.ssh/(?!known_hosts$).+|authorized_keys)$",
        "holds private keys and who may log in",
    ),
    _row(
        "*.pem, *.key, *.p12, *.pfx, *.jks, *.kdbx, *.ppk",
        r"\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$",
        "holds private keys or passwords",
    ),
    _row(
        ".netrc, .pgpass, .npmrc, .pypirc, .git-credentials, .my.cnf",
        r"(?:^|/)(?:\.netrc|_netrc|\.pgpass|\.npmrc|\.yarnrc\.yml|\.pypirc|\.git-credentials|\.my\.cnf"
        r"|\.htpasswd"
        r"|\.vault-token|\.s3cfg|\.boto|\.terraformrc|\.dockercfg)$",
        "holds what a tool logs in with",
    ),
    _row(
        "credentials, credentials.json, client_secret*.json, service-account*.json",
        r"(?:^|/)(?:credentials?(?:\.(?:json|ya?ml|toml|ini|db|enc))?|client_secrets?[\w.-]*\.json"
        r"|service[-_]?account[\w.-]*\.json|application_default_credentials\.json|token\.(?:json|pickle))$",
        "holds what a service is called with",
    ),
    _row(
        "secrets.yaml, secrets.toml, master.key, *.tfstate",
        r"(?:^|/)(?:\.?secrets?(?:\.[\w-]+)*\.(?:ya?ml|json|toml|env|txt|ini)|master\.key|[\w.-]*\.tfstate"
        r"(?:\.backup)?|vault[\w.-]*\.ya?ml)$",
        "holds the secrets of a deployment",
    ),
    _row(
        ".aws/*, .kube/config, .docker/config.json, .config/gcloud, .config/gh, .azure, .gnupg",
        r"(?:^|/)(?:\.aws/.+|\.kube/config|\.docker/config\.json|\.config/(?:gcloud|gh|hub|op|rclone)(?:/.*)?"
        r"|\.azure/.+|\.gnupg(?:/.*)?|\.password-store(?:/.*)?|\.claude\.json|\.codex/auth\.json)$",
        "holds what a cloud or a service is called with",
    ),
    _row(
        "/etc/shadow, /etc/sudoers, /etc/ssl/private",
        r"^/(?:private/)?etc/(?:shadow-?|gshadow-?|sudoers(?:\.d/.*)?|ssl/private/.*|master\.passwd"
        r"|krb5\.keytab)$",
        "holds the passwords and rights of the machine",
    ),
    _row("/proc/*/environ", r"^/proc/[^/]+/environ$", "holds a process's environment, passwords too"),
    _row(
        "/run/secrets, /var/run/secrets",
        r"^/(?:var/)?run/secrets/.+$",
        "holds the secrets of a container",
    ),
    _row(
        ".bash_history, .zsh_history, .psql_history",
        r"(?:^|/)\.(?:bash|zsh|fish|python|psql|mysql|node_repl|sqlite)_history$",
        "holds what was typed, passwords too",
    ),
    _row(
        "cookies and logins of a browser, keychains, wallets",
        r"(?:^|/)(?:cookies(?:\.sqlite)?|login data|logins\.json|key[34]\.db|wallet\.dat"
        r"|[\w.-]+\.keychain(?:-db)?)$",
        "holds what a person is logged in with",
    ),
    _row(
        "anything in a person's Downloads folder",
        r"^(?:~|\$home|\$\{home\}|/(?:home|users|mnt/c/users)/[^/]+|/root)/downloads/.+$",
        "came from the web, whoever wrote it",
        kind=OutsideKind.DOWNLOAD,
    ),
    _row(
        "anything in node_modules, site-packages, vendor, third_party, .venv, Pods, go/pkg/mod",
        rf"(?:^|/)(?:{PACKAGE_FOLDERS})/.+$",
        "was written by the authors of a package",
        kind=OutsideKind.PACKAGE,
    ),
    _row(
        "*.pdf, *.docx, *.xlsx, *.epub, *.eml, *.mbox, *.patch, *.ipynb, *.har",
        r"\.(?:pdf|docx?|pptx?|xlsx?|odt|epub|eml|mbox|patch|diff|ipynb|har|trace|mhtml?|webarchive|warc|srt|vtt)$"
        r"|_files/[^/]+\.html?$|(?:^|/)playwright-report/.+$",
        "is a document, a mail, a patch, or what was shown and printed elsewhere, mostly of somebody else's",
        kind=OutsideKind.DOWNLOAD,
    ),
    _row(
        "*.png, *.jpg, *.mp3, *.mp4 and other pictures and recordings",
        r"\.(?:png|jpe?g|gif|webp|bmp|tiff?|heic|avif|mp[34]|m4a|wav|ogg|flac|mov|webm|mkv|avi)$",
        "has words that somebody put there",
        kind=OutsideKind.DOWNLOAD,
    ),
    _row(
        "*.zip, *.tar.gz, *.whl, *.jar, *.so, *.exe",
        r"\.(?:zip|tgz|tbz2?|txz|tar(?:\.\w{1,4})?|[gx]z|bz2|zst|7z|rar|jar|whl|deb|rpm|so(?:\.\d+)*|dylib|dll|exe|apk|ipa)$",
        "is packed or built, mostly elsewhere",
        kind=OutsideKind.DOWNLOAD,
    ),
    _row(
        "*.sqlite, *.db, *.dump, *.bak",
        r"\.(?:sqlite3?|db|dump|bak|rdb)$",
        "holds rows that anybody may have written",
        kind=OutsideKind.DATABASE,
    ),
    _row(
        "*.log, *.log.2.gz, nohup.out, logs/web/current",
        r"\.log(?:\.\d{1,3})?(?:\.(?:gz|bz2|xz|zst))?$|(?:^|/)nohup\.out$"
        r"|(?:^|/)logs?/(?:[\w.-]+/)*[\w-]+(?:\.(?:txt|out|err|jsonl?))?$",
        "holds what programs were told by whoever called them",
        kind=OutsideKind.REMOTE,
    ),
    _row(
        "/dev/tcp, /dev/udp",
        r"^/dev/(?:tcp|udp)/.+$",
        "is a connection to another machine",
        kind=OutsideKind.REMOTE,
    ),
)

# All patterns at once, without their exceptions: most paths fit none. Only of ASCII do both think alike.
_EXCEPTION = re.compile(r"\(\?!(?:[^()]|\([^()]*\))*\)")
_ANY = compile_pattern(
    ("(?m)" + "|".join(f"(?:{_EXCEPTION.sub('', row.pattern.pattern)})" for row in PATHS)).encode()
)


def outside_of_path(path: str) -> Outside | None:
    """Why a file's text is not the workspace's own; None where it is."""
    if len(path) > PATH_CHARS_MAX:
        return None
    plain = _plain(path)
    if plain.isascii() and not _ANY.search(plain.encode()):
        return None
    return _by_row(plain)


def outside_of_folder(path: str, folder: str = "") -> Outside | None:
    """Why a file is none of the working folder's; None where it is one, or could be: no folder is known."""
    here = _plain(folder).rstrip("/")
    home = _HOME.match(here)
    plain = _IN_HOME.sub("~", _BEFORE.sub("..", _plain(path)))
    if home and plain.startswith("~"):
        plain = home[0] + plain[1:]
    plain = normpath(plain) if plain else "."
    if here and (plain == here or plain.startswith(f"{here}/")):
        return None
    is_elsewhere = plain in ("/", "~") or plain == ".." or plain.startswith("../") or _SYSTEM.match(plain)
    is_absolute = bool(here) and plain.startswith(("/", "~"))
    return ELSEWHERE if is_elsewhere or is_absolute else None


def outside_of_paths(paths: Sequence[str]) -> Iterator[tuple[str, Outside]]:
    """Those of some paths whose text is not the workspace's own, with the reason."""
    told = "\n".join([_plain(path) for path in paths if len(path) <= PATH_CHARS_MAX])
    if told.isascii() and not _ANY.search(told.encode()):
        return
    for path in paths:
        if len(path) <= PATH_CHARS_MAX and (outside := _by_row(_plain(path))):
            yield path, outside


def _by_row(plain: str) -> Outside | None:
    return next((row.outside for row in PATHS if row.pattern.search(plain)), None)


def _plain(path: str) -> str:
    return path.strip().replace("\\", "/").lower().removeprefix("file://")
