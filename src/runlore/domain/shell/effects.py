"""What programs that only read do besides when an option says so: write a file, or run another program.

A pattern such as `git log*` or `sed -n*` is meant for reading, and does not allow these options. Programs
that write or run things by nature (`make`, `cp`) have no row: whoever allows them knows.
"""

import re
from collections.abc import Callable, Mapping, Sequence

# Long options by their whole name, which may be cut short where they are used; single letters may be joined.
OPTIONS: Mapping[str, str] = {
    "curl": "-o -O -K -T --output --remote-name --config --upload-file --dump-header --cookie-jar --trace",
    "date": "-s --set",
    "fd": "-x -X --exec --exec-batch",
    "find": "-delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir",
    "git": "-c --config-env --exec-path --ext-diff --git-dir --open-files-in-pager --output"
    " --output-directory --receive-pack --upload-pack --work-tree",
    "go": "-exec -o -toolexec -vettool -w",
    "rg": "--hostname-bin --pre",
    "sort": "-o --compress-program --output",
    "tar": "-F -I --checkpoint-action --info-script --new-volume-script --rsh-command --to-command"
    " --use-compress-program",
    "tree": "-o",
    "wget": "-O -o --execute --output-document --output-file --use-askpass",
    "yq": "-i --inplace",
}
# An address, or two; then one letter that prints, deletes or ends; or a substitution that only prints.
_SED_STEP = re.compile(
    r"\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)(?:,(?:\d+|\$|[+~]\d+|/(?:[^/\\\n]|\\.)*/I?))?)?!?\s*"
    r"(?:[pdqPDQ=]|s(?P<by>[/|,#@])(?:(?!(?P=by))[^\\\n]|\\.)*(?P=by)(?:(?!(?P=by))[^\\\n]|\\.)*(?P=by)[gpiI\d]*)\s*"
)
_AWK_DOES = re.compile(r"[|>@]|\bsystem\b|\bgetline\b")


def side_effect_of(name: str, arguments: Sequence[str]) -> str | None:
    """The word by which a program that reads would write or run something; None where there is none."""
    options = OPTIONS.get(name, "").split()
    for word in arguments:
        if options and any(_is_option(word, option) for option in options):
            return word
    special = _SPECIAL.get(name)
    return special(arguments) if special else None


def _is_option(word: str, option: str) -> bool:
    name = word.partition("=")[0]
    if option.startswith("--"):
        return len(name) > len("--o") and option.startswith(name)
    if len(option) > len("-x"):
        return name == option
    return word.startswith("-") and not word.startswith("--") and option[1] in word[1:]


def _of_sed(arguments: Sequence[str]) -> str | None:
    is_script = True
    for at, word in enumerate(arguments):
        name, _, value = word.partition("=")
        before = arguments[at - 1] if at else ""
        if before in ("-e", "--expression") or (is_script and not word.startswith("-")):
            is_script, script = False, word
        elif name == "--expression":
            is_script, script = False, value
        elif word in ("-n", "-E", "-r", "-s", "-u", "-z", "-e", "-nE", "-En", "-nr", "--quiet", "--silent"):
            continue
        elif word.startswith("-"):
            return word
        else:
            continue
        if not all(_SED_STEP.fullmatch(step) for step in re.split(r"[;\n]", script) if step.strip()):
            return word
    return None


def _of_awk(arguments: Sequence[str]) -> str | None:
    return next(
        (
            word
            for word in arguments
            if _AWK_DOES.search(word) or word.startswith(("-f", "-i", "-l", "-E", "--"))
        ),
        None,
    )


def _of_uniq(arguments: Sequence[str]) -> str | None:
    files = [word for word in arguments if not word.startswith("-")]
    return files[1] if len(files) > 1 else None


_SPECIAL: Mapping[str, Callable[[Sequence[str]], str | None]] = {
    "sed": _of_sed,
    "awk": _of_awk,
    "gawk": _of_awk,
    "mawk": _of_awk,
    "uniq": _of_uniq,
}
