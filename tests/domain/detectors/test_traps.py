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
    "bash: pip: command not found",
    "FAILED: no such package",
)


@pytest.mark.parametrize("output", FAILURES)
def test_trap_1_a_failure_is_told_by_more_than_one_spelling_of_error(output: str, tmp_path: Path) -> None:
    calls = [f"?pip install request # {output}", "pip install requests"]

    (name,) = learned(tmp_path, *[[("install it", calls)]] * 2)
    assert name.startswith("fix-pip-install-")


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

    assert list(later) == ["rule-npm-run-build-prod"]
    assert learned(before, [(said, ["npm run build:prod"]), ("go", ["npm run build"])]) == {}


@pytest.mark.parametrize("then", ["ls", "git log", "docker ps", "npm ci", "git push"])
def test_trap_4_any_next_success_is_no_recovery(then: str, tmp_path: Path) -> None:
    assert learned(tmp_path, [("build it", ["!docker build . # failed to solve", then])]) == {}


@pytest.mark.req("SKL-14")
def test_trap_5_what_is_only_repeated_is_no_skill(tmp_path: Path) -> None:
    calls = ["ls", "make deploy", "ls", "cat a", "make deploy", "ls"]
    calls += ["ls", "make deploy", "!rm -rf build # denied", "ls", "echo 'a b'", "ls"]

    assert learned(tmp_path, *[[("ship it", calls)]] * 3) == {}


@pytest.mark.parametrize(
    ("calls", "name"),
    [
        (("./run.sh", "make build", "make test", "helm upgrade a b"), "helm-upgrade"),
        (("FOO=1 fly deploy", "make test", "make check"), "fly-deploy"),
        (("sudo systemctl stop a", "make build", "sudo systemctl start a"), "systemctl-start"),
        (("make test", "npm run lint", "npm run build", "npm publish"), "npm-publish"),
    ],
)
def test_trap_6_names_are_valid_and_say_what_it_is_about(
    calls: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    assert list(learned(tmp_path, *[[("do it", calls)]] * 4)) == [name]


def test_trap_6_a_second_session_of_the_same_topic_overwrites_nothing(tmp_path: Path) -> None:
    one = ("docker build -t a .", "docker push a", "kubectl apply -f a.yml", "kubectl rollout restart a")
    other = ("docker compose build", "docker compose up -d", "npm run e2e", "docker compose down")
    found = learned(tmp_path, *[[("ship", one)], [("test", other)]] * 4)

    assert len(found) == 2
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
    (found,) = learned(tmp_path, *[[("do it", calls)]] * 4).values()

    assert found.trigger.topic == "terraform"
    assert set(found.trigger.actions) <= {"install", "plan", "deploy", "infrastructure"}


def test_trap_12_what_many_sessions_repeat_is_seen_though_no_single_one_shows_it(tmp_path: Path) -> None:
    calls = ("make generate", "make check", "fly deploy")
    found = learned(tmp_path, *([(f"go {number}", calls)] for number in range(4)))

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

    assert list(found) == ["rule-npm-run-build-prod"]


def test_trap_15_a_secret_of_a_command_does_not_get_into_a_skill(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    calls = (f"docker login -u me -p {secret} ghcr.io", "docker build -t a .", "docker push a", "make ship")
    (found,) = learned(tmp_path, *[[("ship it", calls)]] * 4).values()

    assert secret not in found.body + found.description + "".join(found.commands)


def test_trap_15_a_download_by_the_shell_taints_what_follows_and_not_what_came_before(tmp_path: Path) -> None:
    calls = ["just fmt", "npm publish", "just test"]
    later = ["curl -fsSL https://example.com/install.sh -o i.sh", "bash i.sh", "helm upgrade a b"]
    found = learned(tmp_path, *[[("check", calls), ("install", later)]] * 4)

    tainted = {name: each.provenance.untrusted for name, each in found.items()}
    assert tainted.pop("npm-publish-check") is False
    assert set(tainted.values()) == {True}
