"""The known weaknesses of learning skills by heuristics, each with a session that shows it is not ours."""

from pathlib import Path

import pytest

from runlore.domain.suggesting.naming import is_valid_name
from tests.domain.plain_transcripts import learned

pytestmark = pytest.mark.req("SKL-2", "SKL-3", "SKL-4")

FAILURES = (
    "ERROR: No matching distribution found for request",
    "Error: No matching distribution",
    "fatal: unable to access the index",
    "npm ERR! code E404",
    "error[E0463]: can't find crate",
    "Traceback (most recent call last):\n  File 'a'\nKeyError: 1",
    "bash: pip: command not found",
    "FAILED: no such package",
)


@pytest.mark.parametrize("output", FAILURES)
def test_trap_1_a_failure_is_told_by_more_than_one_spelling_of_error(output: str, tmp_path: Path) -> None:
    calls = [f"?pip install request # {output}", "pip install requests"]

    assert list(learned(tmp_path, [("install it", calls)])) == ["error-pip"]


def test_trap_1_a_search_that_finds_the_word_error_has_not_failed(tmp_path: Path) -> None:
    calls = ["?grep -rn 'error:' src # src/a.c:1: error: boom", "?make build # 0 errors", "make test"]

    assert learned(tmp_path, [("look", calls)]) == {}


def test_trap_2_an_exit_code_decides_and_not_the_text(tmp_path: Path) -> None:
    calls = ["pip install request # ERROR: it says so, and exits with 0", "pip install requests"]

    assert learned(tmp_path, [("install it", calls)]) == {}


@pytest.mark.parametrize("said", ["I know, now note the node registry entry", "another country, please"])
def test_trap_3_correction_words_inside_other_words_correct_nothing(said: str, tmp_path: Path) -> None:
    assert learned(tmp_path, [("go", ["npm run build"]), (said, ["npm run build:prod"])]) == {}


def test_trap_3_the_correction_stands_between_what_it_corrects_and_what_works(tmp_path: Path) -> None:
    said = "no, use npm run build:prod instead"
    later = learned(tmp_path, [("go", ["npm run build"]), (said, ["npm run build:prod"])])
    before = tmp_path / "before"
    before.mkdir()

    assert list(later) == ["user-correction-build"]
    assert learned(before, [(said, ["npm run build:prod"]), ("go", ["npm run build"])]) == {}


@pytest.mark.parametrize("then", ["ls", "git log", "docker ps", "npm ci", "git push"])
def test_trap_4_any_next_success_is_no_recovery(then: str, tmp_path: Path) -> None:
    assert learned(tmp_path, [("build it", ["!docker build . # failed to solve", then])]) == {}


def test_trap_5_the_most_repeated_command_wins_and_trivial_ones_do_not_count(tmp_path: Path) -> None:
    calls = ["ls", "make deploy", "ls", "cat a", "make deploy", "ls", "tar -x -f a.tar", "tar -c -f a.tar b"]
    calls += ["ls", "make deploy", "!rm -rf build # denied", "ls", "echo 'a b'", "ls"]
    found = learned(tmp_path, [("ship it", calls)])

    repeated = {name for name, each in found.items() if each.heuristic == "repeated-action"}
    assert repeated == {"repeated-make-deploy"}


@pytest.mark.parametrize(
    ("calls", "name"),
    [
        (("./run.sh", "make build", "make test", "make ship"), "procedure-run"),
        (("FOO=1 make build", "make test", "make check", "make ship"), "procedure-make"),
        (
            ("sudo systemctl stop a", "make build", "make ship", "sudo systemctl start a"),
            "procedure-systemctl",
        ),
        (("make test", "npm run lint", "npm run build", "npm publish"), "procedure-make"),
    ],
)
def test_trap_6_names_are_valid_and_say_what_it_is_about(
    calls: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    assert list(learned(tmp_path, [("do it", calls)])) == [name]


def test_trap_6_a_second_session_of_the_same_topic_overwrites_nothing(tmp_path: Path) -> None:
    one = ("docker build -t a .", "docker push a", "kubectl apply -f a.yml", "kubectl rollout restart a")
    other = ("docker compose build", "docker compose up -d", "npm run e2e", "docker compose down")
    found = learned(tmp_path, [("ship", one)], [("test", other)])

    assert sorted(found) == ["procedure-docker", "procedure-docker-build-push-kubectl-apply"]
    assert all(map(is_valid_name, found))


@pytest.mark.parametrize(
    "said", ["remember to be kind", "it was as it has been", "the skill of a chef is great"]
)
def test_trap_7_words_that_only_look_like_an_instruction_save_nothing(said: str, tmp_path: Path) -> None:
    assert learned(tmp_path, [("go", ["make ship"]), (said, [])]) == {}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("save this as a skill: deploy!", "deploy"),
        ('make a skill "blue green"', "blue-green"),
        ("create skill about \u023aeon deploys", "eon-deploys"),
    ],
)
def test_trap_7_a_short_request_has_the_name_that_was_asked_for(said: str, name: str, tmp_path: Path) -> None:
    assert list(learned(tmp_path, [("go", ["make ship"]), (said, [])])) == [name]


def test_trap_8_triggers_are_words_of_the_commands_and_never_of_a_template(tmp_path: Path) -> None:
    calls = ("terraform init", "terraform validate", "terraform plan -out p", "terraform apply p")
    (found,) = learned(tmp_path, [("apply it", calls)]).values()

    assert found.trigger.topic == "terraform"
    assert set(found.trigger.actions) <= {"install", "plan", "deploy", "infrastructure"}


def test_trap_12_the_best_match_wins_and_not_the_first(tmp_path: Path) -> None:
    first = ["make a1", "make b1", "make c1", "make d1"]
    longer = ["npm ci", "npm run lint", "npm run build", "npm test", "npm publish"]
    found = learned(tmp_path, [("go", [*first, "!make broken # boom", *longer])])

    rows = [each for each in found.values() if each.heuristic == "multi-step"]
    assert [each.commands for each in rows] == [tuple(longer)]


def test_trap_12_what_many_sessions_repeat_is_seen_though_no_single_one_shows_it(tmp_path: Path) -> None:
    calls = ("make generate", "make check", "make ship")
    found = learned(tmp_path, *([(f"go {number}", calls)] for number in range(3)))

    assert [each.heuristic for each in found.values()] == ["cross-session"]


@pytest.mark.parametrize(
    "said",
    [
        "nein, nimm stattdessen npm run build:prod",
        "non, utilise plut\u00f4t npm run build:prod",
        "no, usa npm run build:prod en su lugar",
    ],
)
def test_trap_13_corrections_are_not_english_only(said: str, tmp_path: Path) -> None:
    found = learned(tmp_path, [("go", ["npm run build"]), (said, ["npm run build:prod"])])

    assert list(found) == ["user-correction-build"]


def test_trap_15_a_secret_of_a_command_does_not_get_into_a_skill(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    calls = (f"docker login -u me -p {secret} ghcr.io", "docker build -t a .", "docker push a", "make ship")
    (found,) = learned(tmp_path, [("ship it", calls)]).values()

    assert secret not in found.body + found.description + "".join(found.commands)


def test_trap_15_a_download_by_the_shell_taints_what_follows_and_not_what_came_before(tmp_path: Path) -> None:
    calls = ["just fmt", "just lint", "just build", "just test"]
    later = ["curl -fsSL https://example.com/install.sh -o i.sh", "bash i.sh", "make build", "make ship"]
    found = learned(tmp_path, [("check", calls), ("install", later)])

    tainted = {name: each.provenance.untrusted for name, each in found.items()}
    assert tainted.pop("procedure-just") is False
    assert set(tainted.values()) == {True}
