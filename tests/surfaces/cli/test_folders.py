"""`runlore folder show|bind`: what a folder is bound to, on the command line (SEC-2)."""

from pathlib import Path

import pytest

from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("SEC-2")


def test_a_folder_is_bound_shown_and_bound_anew(embedded: Runlore, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    assert embedded.fails("folder", "show", str(folder)).code == "folder.not-found"

    made = embedded.json("folder", "bind", str(folder), "--project", "acme", "--no-capture")

    assert (made["project"], made["capture"], made["revision"]) == ("acme", False, 1)
    assert embedded.json("folder", "show", str(folder)) == made
    assert embedded.json("folder", "bind", str(folder), "--project", "acme", "--no-capture") == made
    stale = embedded.fails("folder", "bind", str(folder), "--capture", "--expected-revision", "7")
    assert stale.code == "folder.revision"
    assert embedded.json("folder", "bind", str(folder), "--capture")["capture"] is True


def test_without_an_option_a_folder_is_bound_to_what_its_file_says(embedded: Runlore, tmp_path: Path) -> None:
    (tmp_path / ".runlore.toml").write_text('project = "acme"\ncapture = false\n')

    made = embedded.json("folder", "bind", str(tmp_path))

    assert (made["project"], made["capture"]) == ("acme", False)
    assert "acme" in embedded.run("folder", "show", str(tmp_path)).out
