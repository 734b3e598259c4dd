"""What outputs say of a call's outcome, in words: refusals, calls that went on, failures.

Refusals and unfinished calls are told by the beginning of an output. Failures are looked for line by line,
and only where neither an exit code nor the tool's flag has decided.
"""

from collections.abc import Sequence

from runlore.domain.lazy import dataclass


@dataclass(frozen=True, kw_only=True)
class TextRow:
    """A pattern (RE2, by lines), an example of it, and why it counts."""

    pattern: str
    shows: str
    why: str


def _row(pattern: str, shows: str, why: str) -> TextRow:
    return TextRow(pattern=pattern, shows=shows, why=why)


# In lower case, as the texts are when they are compared.
REFUSALS: Sequence[TextRow] = (
    _row(
        r"user (?:doesn.t|does not) want to (?:proceed|take this action)",
        "The user doesn't want to proceed with this tool use",
        "the user said no",
    ),
    _row(
        r"(?:rejected|denied|declined|refused|cancell?ed|aborted|interrupted|blocked) by (?:the )?user",
        "exec command rejected by user",
        "the user said no, or stopped it",
    ),
    _row(
        r"user (?:has )?(?:rejected|denied|declined|refused|cancell?ed|interrupted|aborted)",
        "User rejected the command",
        "the user said no, or stopped it",
    ),
    _row(
        r"permission (?:to use|for|denied by the user)[^\n]{0,120}(?:denied|user)|requires approval"
        r"|approval (?:was )?(?:denied|required)",
        "Permission to use Bash has been denied",
        "the harness was not allowed to make the call",
    ),
    _row(r"<tool_use_error>", "<tool_use_error>...", "the harness refused a call that was wrong in itself"),
    _row(
        r"inputvalidationerror|invalid (?:tool )?(?:arguments|parameters) for"
        r"|failed to parse function arguments",
        "InputValidationError: Bash failed",
        "the call had the wrong arguments",
    ),
    _row(
        r"^(?:error: )?(?:no such tool|unknown tool|tool not found|unsupported call)",
        "No such tool available: Foo",
        "there is no such tool",
    ),
    _row(
        r"sandbox(?:ed)?[^\n]{0,40}(?:denied|refused|not permitted)|blocked by (?:a )?(?:hook|policy)",
        "sandbox denied exec",
        "a rule of the harness did not let it run",
    ),
)
UNFINISHED: Sequence[TextRow] = (
    _row(
        r"^(?:error: )?command timed out|timed out after \d+",
        "Command timed out after 2m",
        "it was cut off: nobody knows how it would have ended",
    ),
    _row(
        r"^command (?:is |was )?(?:running|moved|manually backgrounded)[^\n]{0,40}background",
        "Command running in background with ID: 1",
        "it still runs",
    ),
    _row(r"process running with session id", "Process running with session ID 7", "it still runs"),
    _row(
        r"^(?:the )?(?:command|process|task)[^\n]{0,60} still running",
        "The command is still running after 120 s",
        "it still runs",
    ),
)
FAILURES: Sequence[TextRow] = (
    _row(
        r"^(?:[\w./:@\\ -]{0,120}(?:: | - ))?(?i:fatal error|internal error|syntax error|error|fatal|panic)"
        r"(?:\[[A-Za-z]+\d+\]| TS\d+)?:",
        "error: ..., ERROR: ..., fatal: ..., a.c:3: error: ..., error[E0308]: ...",
        "compilers, git, pip and most programs begin so",
    ),
    _row(
        r"^npm (?:ERR!|error)|^ERR_PNPM|^error Command failed|^\S{0,3} ?ELIFECYCLE",
        "npm ERR! missing script",
        "npm and its kin",
    ),
    _row(r"^Traceback \(most recent call last\)", "Traceback (most recent call last)", "Python"),
    _row(
        r"^(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)(?:: |$)",
        "ValueError: ...",
        "an exception that nobody caught",
    ),
    _row(
        r"command not found(?:$|:)|^\S{0,40}:(?: \d+:)? \S{1,60}: not found$"
        r"|is not recognized as an internal or external command",
        "bash: foo: command not found",
        "there is no such program",
    ),
    _row(
        r"^[^\n:]{1,60}: [^\n]{0,200}(?:No such file or directory|Permission denied"
        r"|Operation not permitted)$",
        "sh: ./x: No such file or directory",
        "the system said no",
    ),
    _row(
        r"^(?:\s{0,8}--- )?FAIL(?:ED)?(?::| |\t|$)",
        "FAILED tests/test_a.py::test_b, FAIL pkg, --- FAIL: TestX",
        "a test failed",
    ),
    _row(
        r"^(?:=+ )?(?:[^\n=]{0,60}, )?[1-9]\d{0,6} (?:failed|errors?)\b",
        "== 2 failed, 3 passed in 1.2s ==",
        "pytest's last line",
    ),
    _row(
        r"^\s{0,4}(?:Tests|Test Suites|Test Files):?\s+[1-9]\d{0,6} failed|^test result: FAILED",
        "Tests: 1 failed, 9 total",
        "the last lines of jest, vitest and cargo",
    ),
    _row(r"^E: [A-Z][^\n]{5,200}", "E: Unable to locate package jq", "apt"),
    _row(r"^g?make(?:\[\d+\])?: \*\*\* ", "make: *** [all] Error 2", "make"),
    _row(
        r"^(?:Build|BUILD) (?:FAILED|failed)|^FAILURE: |^\*\* BUILD FAILED",
        "BUILD FAILED",
        "gradle, dotnet, xcodebuild",
    ),
    _row(
        r"(?i)^(?:[\w ]{0,20}[ _-])?(?:exit(?:ed)?|rc|status)(?:[ _-](?:with[ _-])?(?:code|status))?"
        r"[:= ]{1,3}[1-9]\d{0,2}$",
        "exit status 1, EXIT: 2",
        "the call tells its own exit code",
    ),
)
# Of a call that failed, the line that says why, wherever it stands among others that only say that it did.
TELLING: Sequence[TextRow] = (
    _row(
        r"^[^\n]{0,160}(?:operation not permitted|read-only file system|no such host"
        r"|failed to listen on a port)"
        r"[^\n]{0,120}$",
        "open /x/cache: operation not permitted",
        "the machine said no, whatever failed of it afterwards",
    ),
    _row(
        r"^(?:[\w ./-]{0,40}: )?unknown (?:shorthand )?(?:flag|option|command|subcommand)[^\n]{1,160}$"
        r"|^[^\n]{0,60}accepts (?:at most |between )?\d[^\n]{1,80}$",
        "unknown flag: --stat",
        "the usage that follows says nothing of it",
    ),
    _row(r"^[\w-]{1,20}: [^\n]{1,160}\(HTTP [45]\d\d\)", "gh: Not Found (HTTP 404)", "an API said no"),
    _row(r"^\s*! \[(?:remote )?rejected\][^\n]{1,160}$", "! [rejected] a -> a (fetch first)", "git push"),
    _row(r"^[^\n]{0,40}no matches found: [^\n]{1,160}$", "zsh: no matches found: *.go", "zsh"),
    _row(
        r"^[\w./@-]{1,120}\.[A-Za-z]{1,5}:\d+(?::\d+)?: [^\n]{8,200} \([a-z][\w-]{2,30}\)$",
        "a.go:3:1: Error return value is not checked (errcheck)",
        "a linter names its rule",
    ),
)
# A line in which a failure ends has one of these.
LINE_OF_FAILURE = (
    rb"(?i)[^\n]*(?:error|fatal|panic|err!|err_|lifecycle|traceback|exception|not found|not recognized"
    rb"|no such file|denied|not permitted|fail|\*\*\*|exit|status|rc[:= _-]|e: )[^\n]*"
)
# A text that has none of these says of no failure: most outputs are told so, at once.
SIGNS = ("rror", "RROR", "atal", "anic", "FAIL", "ailed", "ERR", "LIFECYCLE", "raceback", "xception")
MORE_SIGNS = ("ot found", "ot recognized", "No such file", "enied", "ot permitted", "***", "xit", "XIT")
SHORT_SIGNS = ("rc=", "RC=", "tatus", "E: ")
