"""What stands in the place of a file holds nobody up, and is not taken for one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from runlore.regular_file import NotRegular, open_regular, read_small

pytestmark = pytest.mark.req("SCO-5", "INT-1")


def test_of_a_file_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"0123456789")

    assert read_small(str(tmp_path / "small"), 4) == b"0123"
    with open_regular(str(tmp_path / "small")) as file:
        assert file.read() == b"0123456789"


@pytest.mark.parametrize(("put", "error"), [(os.mkfifo, NotRegular), (os.mkdir, IsADirectoryError)])
def test_a_pipe_or_a_folder_is_no_file(
    put: Callable[[Path], None], error: type[OSError], tmp_path: Path
) -> None:
    put(tmp_path / "other")
    held = len(os.listdir("/proc/self/fd"))

    for follow_links in (False, True):
        with pytest.raises(error):
            open_regular(str(tmp_path / "other"), follow_links=follow_links)
        assert read_small(str(tmp_path / "other"), 4, follow_links=follow_links) is None

    assert len(os.listdir("/proc/self/fd")) == held


def test_a_link_is_followed_only_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"text")
    os.symlink("there", tmp_path / "link")
    os.symlink("nowhere", tmp_path / "loose")

    assert read_small(str(tmp_path / "link"), 4) is None
    assert read_small(str(tmp_path / "link"), 4, follow_links=True) == b"text"
    assert read_small(str(tmp_path / "loose"), 4, follow_links=True) is None
    with pytest.raises(OSError, match="link"):
        open_regular(str(tmp_path / "link"))
