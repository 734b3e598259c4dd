"""Program texts inside a command (`python -c`, `awk`, `vim -c`): what they read when they run.

They are not parsed, so that it is enough that such a text names an address elsewhere, opens a connection,
starts another program, or has a program of the tables where one could be started.
"""

import re
from collections.abc import Iterator, Mapping

from runlore.domain.taint_sources.addresses import addresses_in, is_own_machine
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind, Reading
from runlore.domain.taint_sources.paths import ELSEWHERE, outside_of_folder, outside_of_paths
from runlore.domain.taint_sources.programs import BY_PROGRAM
from runlore.domain.text.word_tables import words

SEARCHED_CHARS_MAX = 65_536

# The options behind which a program text comes. A single letter may stand among others: `perl -lane`.
INTERPRETERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("python", "pypy", "ipython", "guile", "expect", "pwsh", "powershell"), words("-c -Command")
    ),
    **dict.fromkeys(("node", "nodejs", "bun", "tsx", "ts-node"), words("-e -p --eval --print")),
    **dict.fromkeys(("ruby", "lua", "luajit", "rscript", "osascript", "racket", "ghc", "ghci"), words("-e")),
    **dict.fromkeys(
        ("julia", "elixir", "groovy", "scala", "clojure", "clj", "ocaml", "r"), words("-e --eval")
    ),
    **dict.fromkeys(("sbcl", "erl", "emacs", "emacsclient"), words("-e -eval --eval --execute --load -l")),
    **dict.fromkeys(("vim", "vi", "nvim", "ex", "view", "gvim"), words("-c --cmd -S")),
    **dict.fromkeys(("psql", "mysql", "mariadb"), words("-c -e --command --execute")),
    "perl": words("-e -E -M -m"),
    "php": words("-r -R -B -E --run"),
    "deno": words("eval"),
    "mix": words("-e --eval"),
    "gdb": words("-ex -eval-command --eval-command"),
    "lldb": words("-o --one-line"),
}
# The text is among their plain words.
TEXT_PROGRAMS = words("awk gawk mawk nawk sqlite3 tclsh wish")

# Words that open a connection.
NETWORK_WORDS = words(
    "requests. urllib http.client httpx aiohttp urlopen socket ftplib smtplib imaplib poplib"
    " telnetlib xmlrpc paramiko feedparser pip.main playwright selenium fetch( axios http.get https.get"
    " http.request https.request node-fetch undici got( net::http open-uri httparty faraday lwp io::socket"
    " http::tiny file_get_contents fsockopen curl_ xmlhttprequest websocket net.connect net.dial webclient"
    " invoke-webrequest invoke-restmethod url-retrieve url-copy-file open-network-stream"
    " sqlite3 psycopg pymysql mysql.connector sqlalchemy pymongo mongoose activerecord pdo( prismaclient"
    " sequelize typeorm knex( peewee .objects. session.query .query. repo.all repo.one repo.get"
    " clipboard mailbox"
) | {"import requests", "from requests"}
# Words that ask a package what it says of itself.
_PACKAGE_WORDS = re.compile(r"\bhelp\(|pydoc|importlib\.metadata|pkg_resources|\.__doc__|/package\.json")
# Words that start another program, or a text that is made up only then.
STARTING_WORDS = words(
    "os.system subprocess child_process system( popen os.exec os.spawn pty.spawn execsync spawnsync execfile"
    " shell_exec passthru( proc_open open3 %x( %x{ qx( qx{ qx/ shell-command start-process call-process"
    " /inet/ os.execute io.popen __import__ import_module runpy exec( eval( b64decode frombase64"
) | {"do shell script", "system (", "| getline", "|getline"}

_CONNECTION = Outside(
    kind=OutsideKind.WEB_PAGE, brings=Brings.TEXT, why="the program text opens a connection"
)
_ADDRESS = Outside(
    kind=OutsideKind.WEB_PAGE, brings=Brings.TEXT, why="the program text names an address elsewhere"
)
_PACKAGE = Outside(
    kind=OutsideKind.PACKAGE, brings=Brings.TEXT, why="the program text prints what a package says"
)
_STARTING = Outside(
    kind=OutsideKind.UNKNOWN_TOOL, brings=Brings.TEXT, why="the program text starts what cannot be told"
)
# A word where a program could be started: at the beginning of a quoted text, or behind a sign for it.
_STARTED = re.compile(
    r"""(?:["'`!|(\[]|\bshell |\bsystem )[ \t]*(?:[\w.-]*/)*"""
    r"""([A-Za-z][\w.+-]*)((?:["'`,\s]+[\w./@:=-]+){0,3})"""
)
# What a text opens stands in quotes, in one word.
QUOTED = re.compile(r"""["']([\w./~-]{1,200})["']""")
# Names of programs that stand in quotes for other reasons.
_ORDINARY = words(
    "http https fetch host mail links pass op security port hub tea mc fly go stack pod mix git-lfs bundle"
    " snap pkg sdk vault amp crush mods goose copilot llm env nix guix apk gem conda docker git npm uv pip"
    " composer stripe linear security chamber keyring drill crane links2 axel stern vercel terraform helm"
)


def outside_of_text(program: str, text: str) -> Iterator[Reading]:
    if len(text) > SEARCHED_CHARS_MAX:
        yield f"{program} with a text longer than is read", _STARTING
        text = text[:SEARCHED_CHARS_MAX]
    # It only tells which system this is.
    lower = text.lower().replace("platform.system(", "")
    found = [(each, _ADDRESS) for each in addresses_in(text) if not is_own_machine(each)]
    if not found and program not in TEXT_PROGRAMS and any(word in lower for word in NETWORK_WORDS):
        found = [(f"{program} with a network call", _CONNECTION)]
    yield from found
    opened = QUOTED.findall(text)
    yield from outside_of_paths(opened)
    yield from ((path, ELSEWHERE) for path in opened if len(path) > 3 and outside_of_folder(path))
    if _PACKAGE_WORDS.search(lower):
        yield f"{program} with a package's own words", _PACKAGE
    if any(word in lower for word in STARTING_WORDS):
        yield f"{program} that starts other programs", _STARTING
        return
    for started in _STARTED.finditer(text):
        behind = set(re.split(r"[\"'`,\s]+", started[2]))
        for row in BY_PROGRAM.get(started[1].lower(), ()):
            if behind & row.when if row.when else started[1].lower() not in _ORDINARY:
                yield f"{started[1]} started by {program}", row.outside


def is_given_text(program: str, arguments: tuple[str, ...]) -> bool:
    if program in TEXT_PROGRAMS:
        return True
    options = INTERPRETERS.get(program)
    return options is not None and any(_gives_text(word, options) for word in arguments)


def _gives_text(word: str, options: frozenset[str]) -> bool:
    if word.partition("=")[0] in options or (word.startswith("+") and "-S" in options):
        return True
    if not word.startswith("-") or word.startswith("--"):
        return False
    return any(len(option) == 2 and option[1] in word for option in options)
