"""`user-correction`: which messages correct what the agent ran, and which command is the corrected one."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.user_correction import LANGUAGES, Correcting, correcting_of, user_correction
from tests.domain.detectors.mined_runs import Call, failed, ok, refused, run, session, unknown

pytestmark = pytest.mark.req("SKL-2", "SKL-3")

BUILD = failed("npm run build")
BUILD_PROD = ok("npm run build:prod")


def corrected(*calls: Call, by: str, then: tuple[Call, ...]) -> tuple[str, str] | None:
    """The two commands of the correction that is found, as they were written."""
    return pair(user_correction(session(run("build it", *calls), run(by, *then))))


def pair(match: Match | None) -> tuple[str, str] | None:
    if match is None:
        return None
    (occurrence,) = match.occurrences
    before, after = occurrence.steps
    return before.text, after.text


def test_the_correction_of_the_seed_is_found() -> None:
    runs = session(run("build it", BUILD), run("no, try npm run build:prod instead", BUILD_PROD))
    match = user_correction(runs)
    assert match is not None
    assert match.heuristic is Heuristic.USER_CORRECTION
    assert match.pattern == "npm run build -> npm run build:prod"
    assert pair(match) == ("npm run build", "npm run build:prod")
    assert match.request == runs[1].request
    assert match.occurrences[0].run_id == runs[1].run_id


@pytest.mark.parametrize(
    "message",
    [
        "now build it for production",
        "I know the note in the node registry of this country",
        "no problem, go on",
        "No worries!",
        "no thanks",
        "No, that's fine",
        "no I think this is fine",
        "no need to wait",
        "sounds good, no changes needed",
        "no more errors",
        "set the no-cache header",
        "try the door",
        "try again",
        "actually works great",
        "it actually works great now",
        "instead of waiting, good",
        "what's wrong?",
        "what went wrong here",
        "nothing wrong with that",
        "did it go wrong?",
        "these two are different",
        "what is different?",
        "should we wait instead?",
        "I made an entry and a retry",
        "the function shall try_files",
        "",
        "   \n ",
    ],
)
def test_words_that_only_look_like_a_correction_are_none(message: str) -> None:
    assert corrected(BUILD, by=message, then=(BUILD_PROD,)) is None


@pytest.mark.parametrize(
    "message",
    [
        "no problem,",
        "No worries!",
        "no thanks",
        "no more errors",
        "with no-cache",
        "actually works",
        "what is wrong",
    ],
)
def test_they_are_none_though_they_name_a_command(message: str) -> None:
    assert corrected(ok("npm install"), by=f"{message} pnpm install", then=(ok("pnpm install"),)) is None


@pytest.mark.req("SKL-17")
@pytest.mark.parametrize(
    "message", ["no", "that's wrong", "This isn't what I asked for.", "Use a different target"]
)
def test_a_denial_that_names_no_command_is_about_none(message: str) -> None:
    assert correcting_of(message) is Correcting.DENYING
    assert corrected(BUILD, by=message, then=(BUILD_PROD,)) is None


IN_LANGUAGES = {
    "en": ("no, use pnpm install instead", "no problem, pnpm install"),
    "de": ("nein, nimm stattdessen pnpm install", "kein Problem, jetzt pnpm install"),
    "fr": ("non, utilise pnpm install", "pas de problème, pnpm install"),
    "es": ("no, usa pnpm install en lugar de eso", "no hay problema, pnpm install"),
    "it": ("no, usa invece pnpm install", "nessun problema, pnpm install"),
    "pt": ("não, use pnpm install em vez disso", "sem problemas, pnpm install"),
    "nl": ("nee, gebruik pnpm install", "geen probleem, pnpm install"),
    "ru": ("нет, используй pnpm install", "нет проблем, pnpm install"),
    "zh": ("不对，应该用pnpm install", "没问题，pnpm install"),
    "ja": ("違います、代わりにpnpm installを使って", "問題ないです、pnpm install"),
    "ko": ("아니, pnpm install 써", "괜찮아, pnpm install"),
    "pl": ("nie, użyj pnpm install", "nie ma problemu, pnpm install"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_corrections_are_known_in_every_language_of_the_table(language: str) -> None:
    correction, harmless = IN_LANGUAGES[language]
    install = ok("pnpm install")
    assert corrected(ok("npm install"), by=correction, then=(install,)) == ("npm install", "pnpm install")
    assert corrected(failed("npm install"), by=harmless, then=(install,)) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_proposal_in_any_language_corrects_a_failure_and_nothing_else(language: str) -> None:
    proposals = {
        "en": "try pnpm install",
        "de": "versuch pnpm install",
        "fr": "essaie pnpm install",
        "es": "prueba pnpm install",
        "it": "prova pnpm install",
        "pt": "tente pnpm install",
        "nl": "probeer pnpm install",
        "ru": "попробуй pnpm install",
        "zh": "试试pnpm install",
        "ja": "pnpm installを試して",
        "ko": "pnpm install 시도해",
        "pl": "spróbuj pnpm install",
    }
    assert correcting_of(proposals[language]) is Correcting.PROPOSING
    install = ok("pnpm install")
    assert corrected(failed("npm install"), by=proposals[language], then=(install,)) is not None
    assert corrected(ok("npm install"), by=proposals[language], then=(install,)) is None


def test_the_message_stands_after_the_corrected_command_and_before_the_one_that_works() -> None:
    message = "no, try npm run build:prod instead"
    assert user_correction(session(run(message, BUILD, BUILD_PROD))) is None
    assert user_correction(session(run("build", BUILD, BUILD_PROD), run(message))) is None
    assert user_correction(session(run(message, BUILD), run("go on", BUILD_PROD))) is None
    assert user_correction(session(run("build", BUILD), run(message), run("yes", BUILD_PROD))) is not None


@pytest.mark.parametrize("then", [failed, refused, unknown])
def test_what_does_not_work_is_no_corrected_command(then: object) -> None:
    assert callable(then)
    assert corrected(BUILD, by="no, try npm run build:prod", then=(then("npm run build:prod"),)) is None


def test_a_refused_command_with_a_correction_behind_it_is_corrected() -> None:
    found = corrected(refused("git push"), by="no, use git push --dry-run", then=(ok("git push --dry-run"),))
    assert found == ("git push", "git push --dry-run")


def test_a_command_that_had_worked_is_corrected_only_by_a_denial_that_names_the_other() -> None:
    tests = (ok("make check"),)
    assert corrected(ok("make test"), by="no, run make check", then=tests) == ("make test", "make check")
    assert corrected(ok("make test"), by="no, that is not enough", then=tests) is None
    assert corrected(ok("make test"), by="now try make check", then=tests) is None


def test_commands_that_have_nothing_to_do_with_each_other_are_no_pair() -> None:
    assert corrected(failed("docker build ."), by="no, that's wrong", then=(ok("make test"),)) is None
    assert corrected(failed("git push"), by="no, wrong branch", then=(ok("git checkout main"),)) is None
    assert corrected(BUILD, by="no, that's wrong", then=(ok("ls dist"), ok("cat package.json"))) is None


def test_another_value_that_the_message_does_not_name_is_no_correction() -> None:
    assert (
        corrected(failed("pytest tests/a.py"), by="no, that's wrong", then=(ok("pytest tests/b.py"),)) is None
    )
    named = corrected(failed("pytest tests/a.py"), by="no, tests/b.py", then=(ok("pytest tests/b.py"),))
    assert named == ("pytest tests/a.py", "pytest tests/b.py")


def test_the_same_command_again_is_no_correction() -> None:
    assert corrected(BUILD, by="no, the import was wrong", then=(ok("npm run build"),)) is None


def test_a_file_that_a_message_names_does_not_name_a_command() -> None:
    message = "can you use `errors.Is` instead in cmd/session.go"
    assert corrected(failed("make test"), by=message, then=(ok("git add cmd/session.go"),)) is None


def test_what_the_message_names_wins_over_what_came_last() -> None:
    found = corrected(
        failed("npm run build"),
        ok("npm run lint"),
        by="no, not like that: use `npm run build:prod`",
        then=(ok("npm run build:prod"), ok("npm run lint:fix")),
    )
    assert found == ("npm run build", "npm run build:prod")


def test_what_is_named_as_unwanted_is_the_corrected_one() -> None:
    found = corrected(
        ok("npm install"),
        ok("npm test"),
        by="use pnpm install instead of npm install",
        then=(ok("pnpm install"),),
    )
    assert found == ("npm install", "pnpm install")
    for message in (
        "no, don't run make deploy",
        "no, anything but not make deploy",
        "wrong, avoid make deploy",
    ):
        assert corrected(ok("make build"), by=message, then=(ok("make deploy"),)) is None


def test_of_several_messages_the_most_recent_wins() -> None:
    runs = session(
        run("build it", BUILD),
        run("no, try npm run build:dev", failed("npm run build:dev")),
        run("no, npm run build:prod", BUILD_PROD),
    )
    match = user_correction(runs)
    assert pair(match) == ("npm run build:dev", "npm run build:prod")
    assert match is not None
    assert match.request == runs[2].request


def test_a_correction_is_told_once_and_not_again_by_a_later_run() -> None:
    runs = session(
        run("build it", BUILD),
        run("no, try npm run build:prod", BUILD_PROD),
        run("go on", ok("npm run build:prod"), ok("npm run build:more")),
    )
    assert user_correction(runs[:2]) is not None
    assert user_correction(runs) is None


def test_the_flag_that_a_message_speaks_of_names_its_command() -> None:
    found = corrected(
        failed("docker build ."),
        by="no, it needs a different platform",
        then=(ok("docker build --platform linux/amd64 ."),),
    )
    assert found == ("docker build .", "docker build --platform linux/amd64 .")


def test_only_the_words_of_the_user_count_and_not_what_they_paste() -> None:
    pasted = "look at this:\n```\nno, try npm run build:prod instead\n```"
    assert corrected(BUILD, by=pasted, then=(BUILD_PROD,)) is None
    quoted = "> no, try npm run build:prod instead\nwhat does he mean?"
    assert corrected(BUILD, by=quoted, then=(BUILD_PROD,)) is None


def test_what_a_long_task_says_of_instead_further_on_is_no_correction() -> None:
    task = "Write the report. " + "It has many parts that matter to us all. " * 40 + "Don't use tables."
    assert correcting_of(task) is Correcting.NOT
    assert correcting_of("No, that's wrong. " + task) is Correcting.DENYING


def test_a_session_without_steps_or_requests_has_no_correction() -> None:
    assert user_correction(()) is None
    assert user_correction(session(run(None))) is None
    assert user_correction(session(run("build", BUILD), run(None, BUILD_PROD))) is None


@given(st.text(max_size=400))
def test_any_message_is_read_without_failing(message: str) -> None:
    assert correcting_of(message) in Correcting
    corrected(BUILD, by=message, then=(BUILD_PROD,))


@pytest.mark.parametrize(
    "piece", ["no ", "no, ", "instead of ", "use ", "wrong ", "`", '"a ', "try npm ", "不", "a, "]
)
def test_a_hostile_message_costs_little_time(piece: str) -> None:
    message = piece * (100_000 // len(piece))
    began = time.perf_counter()
    corrected(BUILD, by=message, then=(BUILD_PROD,))
    assert time.perf_counter() - began < 2
