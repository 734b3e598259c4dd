"""The normal form of a command (SKL-13): what is left when paths, addresses, versions and values are gone.

Here are also the forms of what comes with a machine: languages, archives, requests, files, texts, processes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from runlore.domain.lazy import dataclass
from runlore.domain.shell.command import ShellCommand
from runlore.domain.shell.form import Form, form
from runlore.domain.shell.forms_of_tools import FORMS_OF_TOOLS

_CURL = form(
    0,
    "-H --header -d --data --data-raw --data-binary --data-urlencode --data-ascii --json -o --output -u"
    " --user -A"
    " --user-agent -e --referer -b --cookie -c --cookie-jar -F --form --form-string -T --upload-file -m"
    " --max-time"
    " --connect-timeout -w --write-out -x --proxy -K --config --cacert --cert -E --key --resolve"
    " --connect-to -r"
    " --range --retry --retry-delay --retry-max-time --limit-rate -X --request -D --dump-header -Y -y"
    " --speed-limit"
    " --speed-time -z --time-cond --interface --unix-socket --max-redirs --max-filesize --url --ciphers"
    " --proto"
    " --output-dir --oauth2-bearer --aws-sigv4 -t --telnet-option -C --continue-at --capath --pass --socks5"
    " --noproxy -P --ftp-port -Q --quote --trace --trace-ascii --stderr --dns-servers --tls-max"
    " --keepalive-time",
)
_PYTHON = form(0, "-c -W -X --check-hash-based-pycs", modules="-m")
_SHELL = form(0, "-c -o -O --rcfile --init-file")
_GREP = form(
    0,
    "-e --regexp -f --file -m --max-count -A --after-context -B --before-context -C --context --include"
    " --exclude"
    " --exclude-dir --color -d -D --label -g --glob -t --type -T --type-not -j --threads -M --max-columns"
    " --sort"
    " -r --replace --iglob --max-depth --max-filesize --colors --engine --pre -E --encoding",
)
_PLAIN_GREP = form(
    0,
    "-e --regexp -f --file -m --max-count -A --after-context -B --before-context -C --context --include"
    " --exclude"
    " --exclude-dir --color -d -D --label",
)

FORMS_OF_SYSTEM: Mapping[str, Form] = {
    "python": _PYTHON,
    "pypy": _PYTHON,
    "node": form(
        0,
        "-e --eval -p --print -r --require --import --loader --max-old-space-size --env-file"
        " --test-name-pattern",
    ),
    "deno": form(1, "--config -c --import-map --lock --location --seed", nested="task"),
    "ruby": form(0, "-e -I -r -C -E -x"),
    "perl": form(0, "-e -E -I -M -m -F -x", joined=False),
    "php": form(1, "-r -f -d -c -S -t -z", nested="artisan"),
    "java": form(0, "-jar -cp -classpath --class-path -p --module-path -m --module", joined=False),
    "javac": form(0, "-d -cp -classpath -sourcepath --release -source -target", joined=False),
    "tar": form(
        0,
        "-f --file -C --directory -T --files-from -X --exclude-from --exclude --strip-components"
        " --transform --owner --group --mode -b --blocking-factor -H --format -I --use-compress-program",
    ),
    "zip": form(0, "-x -i -b -P -n -t -tt", joined=False),
    "unzip": form(0, "-d -x -P"),
    "gzip": form(0, "-S --suffix"),
    "7z": form(1, "-o -p -m -x", joined=False),
    "curl": _CURL,
    "wget": form(
        0,
        "-O --output-document -o --output-file -P --directory-prefix --header --user-agent -U --post-data"
        " --post-file"
        " --user --password -t --tries -T --timeout --limit-rate -i --input-file -A --accept -R --reject -D"
        " --domains"
        " -l --level -e --execute --method --body-data -Q --quota -w --wait --referer -B --base"
        " --ca-certificate"
        " --load-cookies --save-cookies -a --append-output --cut-dirs -I -X",
    ),
    "http": form(
        0, "-a --auth -A --auth-type -o --output --session --timeout --verify --cert -p --print --proxy -s"
    ),
    "ssh": form(0, "-p -i -o -l -L -R -D -F -J -b -c -e -E -I -m -O -Q -S -W -w -B"),
    "scp": form(0, "-P -i -o -l -F -J -c -S -D -X"),
    "rsync": form(
        0,
        "-e --rsh --exclude --include --exclude-from --include-from --files-from -f --filter"
        " --bwlimit"
        " --rsync-path --chmod --chown --max-size --min-size --log-file --partial-dir -T"
        " --temp-dir -B"
        " --out-format --compare-dest --link-dest --timeout --port --password-file --backup-dir --suffix",
    ),
    "psql": form(
        0,
        "-h --host -p --port -U --username -d --dbname -c --command -f --file -v --set -o"
        " --output -P"
        " --pset -F -R -L --log-file",
    ),
    "mysql": form(0, "-h --host -P --port -u --user -D --database -e --execute -p --password -S --socket"),
    "pg_dump": form(
        0, "-h --host -p --port -U --username -d --dbname -f --file -F --format -t --table -n --schema -j"
    ),
    "sqlite3": form(0, "-cmd -init -separator -nullvalue -newline -vfs", joined=False),
    "redis-cli": form(1, "-h -p -a -n -u -s --user --pass -i -r"),
    "jq": form(0, "-f --from-file --indent -L --arg --argjson --slurpfile --rawfile"),
    "yq": form(0, "-o --output-format -p --input-format --indent -I"),
    "grep": _PLAIN_GREP,
    "egrep": _PLAIN_GREP,
    "fgrep": _PLAIN_GREP,
    "rg": _GREP,
    "ag": _GREP,
    "sed": form(0, "-e --expression -f --file -l --line-length"),
    "awk": form(0, "-F -v -f --field-separator --assign --file"),
    "gawk": form(0, "-F -v -f --field-separator --assign --file"),
    "find": form(
        0,
        "-name -iname -path -ipath -type -maxdepth -mindepth -mtime -mmin -newer -size -perm"
        " -user -group"
        " -regex -iregex -exec -execdir -ok -printf -fprintf -cmin -ctime -atime -amin"
        " -wholename"
        " -lname -links -inum -samefile -fstype",
        joined=False,
    ),
    "fd": form(
        0,
        "-e --extension -t --type -d --max-depth -E --exclude -x --exec -X --exec-batch"
        " --min-depth -c"
        " --color -j --threads -S --size --base-directory -o --owner",
    ),
    "head": form(0, "-n --lines -c --bytes"),
    "tail": form(0, "-n --lines -c --bytes -s --sleep-interval --pid"),
    "sort": form(
        0, "-k --key -t --field-separator -o --output -S --buffer-size -T --temporary-directory --parallel"
    ),
    "cut": form(0, "-d --delimiter -f --fields -c --characters -b --bytes --output-delimiter"),
    "uniq": form(0, "-f --skip-fields -s --skip-chars -w --check-chars"),
    "wc": form(0, "--files0-from --total"),
    "tr": form(0),
    "tee": form(0, "--output-error"),
    "diff": form(
        0, "-U --unified -C --context -x --exclude -I --ignore-matching-lines --label -L -X --width -W"
    ),
    "patch": form(0, "-p --strip -i --input -d --directory -o --output -r --reject-file -F --fuzz -B -Y"),
    "ls": form(
        0, "-I --ignore -w --width -T --tabsize --color --sort --time --time-style --hide --block-size"
    ),
    "cp": form(0, "-t --target-directory -S --suffix --backup"),
    "mv": form(0, "-t --target-directory -S --suffix"),
    "rm": form(0),
    "mkdir": form(0, "-m --mode -Z"),
    "chmod": form(0, "--reference"),
    "chown": form(0, "--reference --from"),
    "ln": form(0, "-t --target-directory -S --suffix"),
    "touch": form(0, "-t -d --date -r --reference"),
    "du": form(0, "-d --max-depth -B --block-size --exclude -t --threshold -X"),
    "df": form(0, "-B --block-size -t --type -x --exclude-type"),
    "ps": form(0, "-p --pid -u --user -o --format -C -t --sort -g -U -G", joined=False),
    "kill": form(0, "-s --signal -n"),
    "pkill": form(0, "-u --euid -P --parent -s --signal -t --terminal -G -U -g"),
    "pgrep": form(0, "-u --euid -P --parent -t --terminal -d --delimiter -G -U -g"),
    "lsof": form(0, "-i -p -u -c -d +D", joined=False),
    "date": form(0, "-d --date -f --file -r --reference -I --rfc-3339"),
    "sleep": form(0),
    "cat": form(0),
    "less": form(0, "-p -o -O -k -P -t -x -b -h -j -y -z"),
    "bat": form(0, "-l --language -r --line-range --theme --style --paging -H --color"),
    "echo": form(0),
    "printf": form(0, "-v"),
    "cd": form(0),
    "pushd": form(0),
    "pwd": form(0),
    "which": form(0),
    "type": form(0),
    "test": form(0, joined=False),
    "[": form(0, joined=False),
    "[[": form(0, joined=False),
    "export": form(0),
    "source": form(0),
    ".": form(0),
    "set": form(0, "-o +o"),
    "unset": form(0),
    "read": form(0, "-p -t -n -N -d -u -a -i"),
    "basename": form(0, "-s --suffix"),
    "dirname": form(0),
    "realpath": form(0, "--relative-to --relative-base"),
    "stat": form(0, "-c --format -f --printf"),
    "file": form(0, "-m --magic-file -f --files-from -F --separator"),
    "tree": form(0, "-L -P -I -o --filelimit --charset", joined=False),
    "open": form(0, "-a -b"),
    "man": form(0, "-M -S"),
    "base64": form(0, "-w --wrap -i -o"),
    "openssl": form(
        1,
        "-in -out -inform -outform -key -cert -CAfile -passin -passout -subj -days -newkey"
        " -connect"
        " -servername -config",
        joined=False,
    ),
    "nc": form(0, "-p -w -s -i -q -X -x"),
    "dig": form(0, "-t -p -x -f -b -k -y"),
    "sh": _SHELL,
    "bash": _SHELL,
    "zsh": _SHELL,
    "fish": _SHELL,
    "dash": _SHELL,
    "ffmpeg": form(
        0,
        "-i -c -c:v -c:a -f -ss -t -to -r -s -vf -af -b -b:v -b:a -crf -preset -map"
        " -filter_complex -ar"
        " -ac -pix_fmt -vframes -frames:v -q:v -threads -loglevel -metadata",
        joined=False,
    ),
    "gcc": form(0, "-o -I -L -l -D -U -std -include -isystem -x -T -MF -MT -march -mtune", joined=False),
    "g++": form(0, "-o -I -L -l -D -U -std -include -isystem -x -T -MF -MT -march -mtune", joined=False),
    "clang": form(0, "-o -I -L -l -D -U -std -include -isystem -x -target -march", joined=False),
    "runlore": form(
        2, "--home --url --token-file --limit --scope --kind --key --value --reason --session --run"
    ),
}


FORMS = {**FORMS_OF_TOOLS, **FORMS_OF_SYSTEM}
URL = "<url>"
NESTED_COMMANDS_MAX = 4

_ADDRESS = re.compile(r"^(?:[a-z][a-z0-9+.-]*://|<url>$|[\w.-]+@[\w.-]+:(?!\d+$))", re.IGNORECASE)
_VERSIONED = re.compile(
    r"^(python|pypy|pip|node|nodejs|ruby|perl|php|lua|gcc|g\+\+|clang|java|make|gmake)[-\d.]+$"
)
_SUBCOMMAND = re.compile(r"^[A-Za-z][A-Za-z0-9_]*(?:[:.-][A-Za-z0-9_]+)*$")
# A file that is run is a value, and no subcommand.
_SCRIPT = re.compile(r"\.(?:php|py|rb|js|mjs|cjs|ts|sh|pl|lua)$")
# A word that an unknown program may have as its subcommand: a plain one, in lower case, without digits.
_PLAIN = re.compile(r"^[a-z]+(?:[-:][a-z]+)*$")
_FLAG = re.compile(r"^--?[A-Za-z?][\w:+.?-]*$")
_NUMBERED = re.compile(r"^-[A-Za-z]?\d[\d.,:]*$|^-\d")
_UNKNOWN = Form(subcommands=1, joined=False)
_OLD_STYLE = re.compile(r"^[Acrtux][a-zA-Z]*$")


@dataclass(frozen=True, kw_only=True)
class CommandParts:
    """The words of a command, sorted out: what it does, how, and with what."""

    program: str
    subcommands: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(word for word in self.plain if _ADDRESS.match(word))


def normal_form(command: ShellCommand) -> str:
    """Program, subcommand, flags in order, `<url>`: the same for two commands that differ in values alone.

    Wrappers such as `sudo` are seen through already; what runs a command as its own work, as `uv run` does,
    stands before that command's form.
    """
    return form_of(parts_of(command))


def parts_of(command: ShellCommand) -> CommandParts:
    """The words of a command, with flags and their values told apart as far as the tables know."""
    return _parts((command.program, *command.arguments))


def form_of(parts: CommandParts, depth: int = 0) -> str:
    """The normal form of a command whose words are sorted out already."""
    flags = sorted(set(parts.flags))
    told = [parts.program, *parts.subcommands, *flags]
    if parts.inner and depth < NESTED_COMMANDS_MAX:
        told.append(form_of(_parts(parts.inner), depth + 1))
    elif parts.addresses:
        told.append(URL)
    return " ".join(told)


def _parts(words: Sequence[str]) -> CommandParts:
    # A program's name without its folder, its version and anything that would break the form in two.
    word = words[0]
    name = word.rstrip("/").rpartition("/")[2] or word
    versioned = _VERSIONED.match(name)
    program = re.sub(r"\s+", "_", versioned[1] if versioned else name) or "_"
    form = FORMS.get(program, _UNKNOWN)
    reading = _Reading(form, is_known=program in FORMS)
    arguments = list(words[1:])
    if program == "tar" and arguments and _OLD_STYLE.match(arguments[0]):
        # `tar xzf a.tgz`: the first word holds the flags, without their dash.
        arguments[0] = f"-{arguments[0]}"
    reading.read(arguments)
    return CommandParts(
        program=program,
        subcommands=tuple(reading.subcommands),
        flags=tuple(reading.flags),
        plain=tuple(reading.plain),
        inner=tuple(reading.inner),
    )


@dataclass
class _Reading:
    form: Form
    is_known: bool
    subcommands: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    wanted: int = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = self.form.subcommands

    def read(self, words: Sequence[str]) -> None:
        index = 0
        while index < len(words) and not self.inner:
            word = words[index]
            if word == "--":
                is_run = bool(self.subcommands) and self.subcommands[0] in self.form.runs
                (self.inner if is_run else self.plain).extend(words[index + 1 :])
                return
            if word.startswith("-") and word != "-":
                index += self._flag(word, words[index + 1 : index + 2])
            else:
                self._word(words, index)
                index += 1

    def _word(self, words: Sequence[str], index: int) -> None:
        word = words[index]
        if self.subcommands and self.subcommands[0] in self.form.runs and word:
            self.inner.extend(words[index:])
            return
        if self.wanted and self._is_subcommand(word, is_first=index == 0):
            self.subcommands.append(word)
            self.wanted -= 1
            if word in self.form.nested and len(self.subcommands) == 1:
                self.wanted += 1
            return
        self.plain.append(word)
        # What comes behind the first value is no subcommand any more.
        self.wanted = 0

    def _is_subcommand(self, word: str, *, is_first: bool) -> bool:
        if self.is_known:
            return _SUBCOMMAND.match(word) is not None and not _SCRIPT.search(word)
        return is_first and _PLAIN.match(word) is not None

    def _flag(self, word: str, following: Sequence[str]) -> int:
        """Read one flag: how many words it took."""
        name, equals, value = word.partition("=")
        if name in self.form.modules and (following or equals):
            self.subcommands += [name, *(_module(following[0]) if not equals else _module(value))]
            return 1 if equals else 2
        if equals or _NUMBERED.match(word):
            return 1
        if self._takes_value(word):
            return 2
        if not word.startswith("--") and len(word) > 2 and self.form.joined and self.is_known:
            return self._bundle(word)
        if _FLAG.match(word):
            self.flags.append(word)
        return 1

    def _bundle(self, word: str) -> int:
        """Short flags that stand together; one that takes a value takes the rest, or the next word."""
        for at, letter in enumerate(word[1:], start=1):
            flag = f"-{letter}"
            if self._takes_value(flag):
                return 2 if at == len(word) - 1 else 1
            if letter.isalpha():
                self.flags.append(flag)
        return 1

    def _takes_value(self, flag: str) -> bool:
        if self.subcommands and self.subcommands[0] in self.form.values_of:
            return flag in self.form.values_of[self.subcommands[0]]
        return flag in self.form.values


def _module(word: str) -> tuple[str, ...]:
    """A module by its first name: `http.server` is one thing, the rest of it is not a version."""
    return (word,) if _SUBCOMMAND.match(word) else ()
