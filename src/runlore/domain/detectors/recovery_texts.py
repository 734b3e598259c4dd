"""What an error is about: the command and the machine, or the code that the command was given."""

from collections.abc import Sequence
from functools import cache

from runlore.domain.detectors.outcome_texts import TextRow
from runlore.domain.guard.patterns import Pattern, compile_pattern


def _row(pattern: str, shows: str, why: str) -> TextRow:
    return TextRow(pattern=pattern, shows=shows, why=why)


ABOUT_COMMAND: Sequence[TextRow] = (
    _row(
        r"unresolved (?:import|module|reference)|(?:cannot|can.t) find (?:crate|package|module)"
        r"|undeclared (?:crate|type or module)|package .{0,80} does not exist|failed to resolve"
        r"|no required module|could not find .{0,80} in",
        "error[E0432]: unresolved import",
        "the code needs something that has to be installed",
    ),
    _row(
        r"not found|failed to (?:read|open|load)|(?:could not|cannot|can.t) (?:read|open|load)"
        r"|no such file|enoent|does not exist|doesn.t exist|cannot find|can.t find|could not find"
        r"|could not be found|unable to locate|couldn.t find|not installed|no module named|modulenotfound"
        r"|no config file|does not appear to contain|is not recogni[sz]ed as|unable to (?:find|access|open)"
        r"|is not (?:available|enabled|set\b|configured)|\bno (?:\w+ ){1,3}found\b",
        "command not found",
        "something that the command needs is not there",
    ),
    _row(
        r"unknown (?:option|flag|command|argument|shorthand|subcommand|revision|switch)|unrecogni[sz]ed"
        r"|invalid (?:option|argument|flag|choice|value|syntax for)|illegal option|unexpected argument"
        r"|flag provided but not defined|usage:|requires? an argument|missing (?:script|argument|required"
        r"|operand)"
        r"|is not a .{0,20}command|bad flag|no such (?:option|command|subcommand)|ambiguous argument"
        r"|did you mean|no value for|no matches found|accepts (?:at most |between )?\d|can.t be blank"
        r"|required (?:variable|flag|argument|option|parameter)"
        r"|(?:must|please) (?:be set|specify|provide|first)|is required\b|or use the --?\w|no such service"
        r"|must be (?:provided|specified|given|one of)|(?:failed to|could not|cannot|can.t) parse"
        r"|too many positional arguments",
        "unknown flag: --foo",
        "the command was written wrong",
    ),
    _row(
        r"no matching distribution|could not resolve|unable to resolve|no required module|no such package"
        r"|not in std|missing go\.sum|package .{0,80} is not|not a (?:git repository|directory|known)|404"
        r"|no match for|no such host|eresolve|is incompatible with|still in use|no matching version",
        "No matching distribution found",
        "what was named does not exist",
    ),
    _row(
        r"permission denied|eacces|operation not permitted|must be run as|are you root|read-only file system"
        r"|externally-managed-environment|authentication|unauthorized|forbidden|not logged in|access denied"
        r"|access to the resource is denied|denied:|\b40[13]\b|rate limit|certificate|x509|\bexpired\b"
        r"|login required",
        "Permission denied",
        "the command may not do that",
    ),
    _row(
        r"connection refused|econnrefused|already in use|eaddrinuse|address in use"
        r"|(?:cannot|can.t|could not|unable to) connect"
        r"|is the docker daemon running|network is unreachable|timed? ?out|already exists|is not empty"
        r"|no space left|locked|lock file|index\.lock|initialization required|migrations? (?:are|is) pending"
        r"|pendingmigration|could not read username|already (?:used|running|checked out)|exec format error"
        r"|unsupported|not supported|out of memory|version mismatch",
        "connection refused",
        "something around the command is not ready",
    ),
    _row(
        r"non-fast-forward|fetch first|no upstream|diverg|unmerged|would be overwritten|not possible to fast"
        r"|unrelated histories|please commit your changes|nothing to commit|no changes added|unstaged changes"
        r"|paths are ignored|did not match any",
        "Updates were rejected (non-fast-forward)",
        "the repository is not in the state that it needs",
    ),
    _row(
        r"no tests (?:ran|found|were)|collected 0 items|build constraints exclude|no files matching"
        r"|matched no (?:packages|files)|outside (?:main )?module"
        r"|go\.mod file not found|directory prefix|no targets specified|no rule to make target",
        "no tests found",
        "it was started in the wrong place",
    ),
)
ABOUT_CODE: Sequence[TextRow] = (
    _row(
        r"^\s*--- fail|^fail(?:ed)?(?:$|\s+\S*[/.:_\[])|^fail: "
        r"|\b[1-9]\d* (?:failed|failures?|failing)\b|tests? failed|assert",
        "--- FAIL: TestX",
        "a test failed",
    ),
    _row(
        r"^\S+\.\w{1,6}[:(]\d+(?:[:,]\d+)?\)?:|error\[e\d+\]|error ts\d+|syntax ?error|undefined:"
        r"|type ?error",
        "a.c:3:1: error: ...",
        "the code does not compile",
    ),
    _row(
        r"\b[1-9]\d* (?:errors?|problems?|issues?|warnings?)\b|would reformat|found \d+ (?:error|issue"
        r"|problem)",
        "Found 3 errors.",
        "a linter found something",
    ),
    _row(
        r"exit status \d+$|process completed with|error \d+$|elifecycle|command failed|task failed"
        r"|\[(?:setup|build) failed\]",
        "make: *** [test] Error 1",
        "what it ran has failed, and told why elsewhere",
    ),
)


def is_about_test(error: str) -> bool:
    """Whether an error says that a test failed."""
    return _any_of(ABOUT_CODE[:1]).search(_fold(error)) is not None


def says_elsewhere(error: str) -> bool:
    """Whether an error only says that something failed which has told why in another line."""
    return _any_of(ABOUT_CODE[-1:]).search(_fold(error)) is not None


def is_about_command(error: str) -> bool:
    """Whether an error is about the command itself, or about the machine that it runs on."""
    text = _fold(error)
    # The name of a test that failed may say anything.
    return not is_about_test(error) and _any_of(ABOUT_COMMAND).search(text) is not None


def is_about_code(error: str) -> bool:
    """Whether an error is about the code that the command was given, and not about the command."""
    return not is_about_command(error) and _any_of(ABOUT_CODE).search(_fold(error)) is not None


def _fold(error: str) -> bytes:
    return error.lower().encode(errors="replace")


@cache
def _any_of(rows: Sequence[TextRow]) -> Pattern:
    return compile_pattern("|".join(f"(?:{row.pattern})" for row in rows).encode())
