"""The words of a fix: what to run where what fails, and what its settings are called."""

import pytest

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import Suggestion
from tests.domain.suggesting.suggesting_matches import failed, match, steps

pytestmark = pytest.mark.req("SKL-4")


def one(*found: Match) -> Suggestion:
    """The one suggestion that comes of them."""
    (suggestion,) = suggestions_of(found)
    return suggestion


def test_a_fix_says_what_to_run_where_what_fails() -> None:
    gone = failed("go test ./...", "zsh:1: command not found: go", 127)
    found = one(match(Heuristic.ERROR_RECOVERY, steps(gone, "mise exec -- go test ./...")))
    between = one(
        match(
            Heuristic.ERROR_RECOVERY,
            steps(failed("terraform plan", "Error: please run init"), "terraform init", "terraform plan"),
        )
    )

    assert found.description.startswith(
        "What to do when `go test ./...` fails with `command not found: go`:"
        " run `mise exec -- go test ./...` instead."
    )
    assert "run `terraform init`, then `terraform plan`." in between.body


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("GOCACHE=/tmp/a/c GOTMPDIR=/tmp/a/t", "GOCACHE=<gocache> GOTMPDIR=<gotmpdir>"),
        ("XDG_CACHE_HOME=/tmp/a/c", "XDG_CACHE_HOME=<xdg-cache-home>"),
    ],
)
def test_settings_are_named_after_their_variables(settings: str, told: str) -> None:
    denied = failed("go vet ./...", "open /srv/cache/x: operation not permitted")
    found = one(match(Heuristic.ERROR_RECOVERY, steps(denied, f"env {settings} go vet ./...")))

    assert found.commands[-1] == f"env {told} go vet ./..."
