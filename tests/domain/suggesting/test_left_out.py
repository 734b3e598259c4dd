"""What a procedure leaves out is said, and what has to be set before its steps is told."""

from pathlib import Path

import pytest

from runlore.domain.detectors.mined import MinedRun
from runlore.domain.detectors.preparations import with_standing
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from tests.domain.plain_transcripts import learned
from tests.domain.suggesting.suggesting_matches import START, Failed, failed, steps

pytestmark = pytest.mark.req("SKL-4")

LEFT_OUT = "is left out."


def body(folder: Path, *sessions: tuple[str, ...]) -> str:
    """The body of the one suggestion that comes of sessions."""
    (found,) = learned(folder, *([("do it", calls)] for calls in sessions)).values()
    return found.body


def run(*calls: str | Failed) -> MinedRun:
    """A run of these calls."""
    return MinedRun(
        session_id=SessionId("ses_a"),
        run_id=RunId("run_a_0"),
        agent="",
        project="",
        at=START,
        request=None,
        steps=steps(*calls),
    )


def test_a_setting_in_the_call_of_the_first_step_comes_before_all_of_them(tmp_path: Path) -> None:
    told = body(tmp_path, *[("source ~/.nvm/nvm.sh && nvm use 18", "npm ci", "npm test", "npm run e2e")] * 3)

    steps_told = told.partition("## Step-by-Step\n\n")[2]
    assert steps_told.startswith("Before you begin: `source ~/.nvm/nvm.sh`\n\n1. `nvm use 18`\n")


def test_a_setting_in_the_calls_of_later_steps_comes_before_the_first_of_these(tmp_path: Path) -> None:
    entering = "source .venv/bin/activate &&"
    calls = ("python -m venv .venv", f"{entering} pip install -e '.[dev]'", f"{entering} pytest -q")
    told = body(tmp_path, *[calls] * 3)

    assert told.count("source .venv/bin/activate") == 1
    assert "Before step 2: `source .venv/bin/activate`\n\n1. `python -m venv .venv`\n" in told


def test_a_setting_that_few_of_the_times_had_is_not_told(tmp_path: Path) -> None:
    usual = ("npm ci", "npm test", "npm run e2e")
    told = body(tmp_path, usual, usual, ("export A=b && npm ci", *usual[1:]))

    assert "Before" not in told
    assert "Settings" not in told


@pytest.mark.parametrize("setting", ["export AWS_PROFILE=prod", "source .venv/bin/activate", ". ./env.sh"])
def test_settings_in_calls_of_their_own_are_said_to_be_left_out(setting: str, tmp_path: Path) -> None:
    told = body(tmp_path, *[(setting, "make image", "helm upgrade shop ./chart", "make smoke-test")] * 3)

    program = setting.split(maxsplit=1)[0]
    assert f"Settings of the shell (`{program}`) are left out: see that yours are right." in told


def test_an_edit_between_two_steps_is_said_to_be_left_out_and_one_before_them_is_not(tmp_path: Path) -> None:
    between, before = tmp_path / "a", tmp_path / "b"
    between.mkdir()
    before.mkdir()
    edit = "sed -i s/a/b/ settings.py"

    assert LEFT_OUT in body(between, *[("make lint", edit, "make docs", "make test")] * 3)
    assert LEFT_OUT not in body(before, *[(edit, "make lint", "make docs", "make test")] * 3)


def test_what_took_away_right_before_a_procedure_is_named(tmp_path: Path) -> None:
    calls = ("psql -c 'drop database shop'", "createdb shop", "psql shop -f schema.sql", "redis-cli PING")
    told = body(tmp_path, *[calls] * 3)

    assert "`psql -c 'drop database shop'` stood before it and is left out: it takes away" in told


def test_what_stood_before_a_step_is_told_by_its_program_and_once() -> None:
    found = with_standing(run("export A=b", "export C=d", "ls", "make lint", "make test"))

    assert [step.before for step in found.steps if not step.is_looking] == [("export",), ()]
    assert [step.text for step in found.steps] == [step.text for step in run(*("export A=b",) * 2).steps] + [
        "ls",
        "make lint",
        "make test",
    ]


def test_a_setting_that_failed_stood_before_nothing() -> None:
    found = with_standing(run(failed("source nothing.sh"), "make lint"))

    assert found.steps[-1].before == ()


def test_a_run_without_settings_stays_as_it_is() -> None:
    plain = run("ls", "make lint")

    assert with_standing(plain) is plain


def test_nothing_is_said_about_failures_that_stand_outside_of_a_row(tmp_path: Path) -> None:
    calls = ("terraform init", "!terraform apply -auto-approve # Error: state locked", "terraform plan")
    told = body(tmp_path, *[(*calls, "terraform apply -auto-approve", "terraform output")] * 3)

    assert "- Stop at the first step that fails.\n" in told
    assert "none did" not in told


def test_a_commit_that_is_not_told_stands_before_the_tag(tmp_path: Path) -> None:
    sessions = [
        (
            "make lint",
            "make test",
            f"cargo set-version 0.{at}.0",
            f"git commit -am 'Release 0.{at}.0'",
            f"git tag v0.{at}.0",
            "git push --tags",
        )
        for at in (1, 2, 3)
    ]
    told = body(tmp_path, *sessions)

    assert "A procedure to release, in 5 steps:" in told
    assert "4. After committing: `git tag v<version>`\n5. `git push --tags`\n" in told


@pytest.mark.parametrize(
    ("calls", "verified"),
    [
        (("docker build -t shop .", "docker push shop", "kubectl rollout restart deployment/shop"), -1),
        (("terraform init", "terraform plan -out=p", "terraform apply p"), -1),
        (("make test", "make deploy", "curl -f https://shop.example.com/healthz"), -1),
        (("make deploy", "kubectl rollout status deployment/shop", "git push"), 1),
    ],
)
def test_a_deployment_is_verified_by_what_shows_that_it_runs(
    calls: tuple[str, ...], verified: int, tmp_path: Path
) -> None:
    told = body(tmp_path, *[calls] * 3)

    assert told.startswith("## Overview\n\nA procedure to deploy, in 3 steps: ")
    assert told.endswith(f"## Verification\n\n`{calls[verified]}` should exit with code 0.\n")
