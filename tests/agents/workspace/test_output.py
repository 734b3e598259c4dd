"""What is kept of a command's output, and how a difference is told, each beside a slow reference."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.agents.workspace.copies import edits, unified_diff
from runlore.agents.workspace.private_folder import Output
from runlore.agents.workspace.worktrees import LocalWorkspaces
from tests.agents.commands import environment, ran

pytestmark = pytest.mark.req("AGT-4")

lines = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=9)


class TestOutput:
    @given(pieces=st.lists(st.binary(max_size=12), max_size=12), chars_max=st.integers(0, 40))
    def test_pieces_are_read_as_the_whole_would_be(self, pieces: list[bytes], chars_max: int) -> None:
        output = Output(chars_max)
        heard = [output.add(piece) for piece in pieces]
        heard.append(output.add(b"", is_last=True))
        whole = b"".join(pieces).decode(errors="replace").replace("\0", "\ufffd")

        assert "".join(heard) == whole
        assert len(output.text) <= chars_max
        assert output.omitted == max(0, len(whole) - chars_max)
        if len(whole) <= chars_max:
            assert output.text == whole
        else:
            half = chars_max // 2
            assert output.text == whole[:half] + whole[len(whole) - (chars_max - half) :]

    @given(
        sizes=st.lists(st.integers(0, 400), max_size=20),
        chars_max=st.integers(241, 1_000),
        seed=st.integers(0),
    )
    def test_a_long_one_keeps_its_ends_and_says_what_is_missing(
        self, sizes: list[int], chars_max: int, seed: int
    ) -> None:
        output = Output(chars_max)
        whole = ""
        for size in sizes:
            piece = "".join(chr(97 + (seed + at * at) % 26) for at in range(len(whole), len(whole) + size))
            output.add(piece.encode())
            whole += piece

        if len(whole) <= chars_max:
            assert (output.text, output.omitted) == (whole, 0)
            return
        head, _, rest = output.text.partition("\n[... ")
        told, _, tail = rest.partition(" characters left out ...]\n")
        assert len(output.text) <= chars_max
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert int(told.replace(",", "")) == output.omitted == len(whole) - len(head) - len(tail)
        assert min(len(head), len(tail)) >= chars_max // 2 - 31

    def test_a_flood_is_bounded_and_heard_whole(self, disk_path: Path) -> None:
        workspace = LocalWorkspaces(environment=environment(disk_path)).open(str(disk_path))
        heard = [0]

        def hear(piece: str) -> None:
            heard[0] += len(piece)

        result = ran(
            workspace,
            "echo first; yes | head -c 8000000; echo last >&2",
            output_chars_max=1_000,
            on_output=hear,
        )

        assert result.output.startswith("first\ny\n")
        assert result.output.endswith("y\nlast\n")
        assert len(result.output) <= 1_000
        assert heard[0] == 8_000_011
        assert result.omitted == 8_000_011 - 940

    def test_both_streams_come_in_their_order(self, disk_path: Path) -> None:
        workspace = LocalWorkspaces(environment=environment(disk_path)).open(str(disk_path))

        result = ran(workspace, "for n in 1 2 3; do echo out $n; echo err $n >&2; done; printf 'caf\\xe9\\0'")

        assert result.output == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\ncaf\ufffd\ufffd"

    def test_a_flood_ends_at_its_time(self, disk_path: Path) -> None:
        workspace = LocalWorkspaces(environment=environment(disk_path)).open(str(disk_path))

        result = ran(workspace, "yes", timeout_s=0.3, output_chars_max=500)

        assert result.timed_out
        assert len(result.output) <= 500


class TestDifferences:
    @given(before=lines, after=lines)
    def test_the_edits_lead_from_one_to_the_other_in_the_fewest_steps(
        self, before: list[str], after: list[str]
    ) -> None:
        told = edits(before, after)

        assert [before[at] for sign, at, _ in told if sign != "+"] == before
        assert [after[at] for sign, _, at in told if sign != "-"] == after
        assert all(before[old] == after[new] for sign, old, new in told if sign == " ")
        assert sum(sign != " " for sign, _, _ in told) == len(before) + len(after) - 2 * _common(
            before, after
        )

    @given(before=lines, after=lines, ends=st.tuples(st.booleans(), st.booleans()))
    def test_git_makes_the_one_of_the_other_with_it(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        before: list[str],
        after: list[str],
        ends: tuple[bool, bool],
    ) -> None:
        old, new = (
            "\n".join(some) + ("\n" if is_ended and some else "")
            for some, is_ended in zip((before, after), ends, strict=True)
        )
        folder = tmp_path_factory.mktemp("diff")
        (folder / "f").write_text(old)
        patch = "".join(unified_diff(old, new, old_name="a/f", new_name="b/f"))
        if old == new:
            assert patch == ""
            return

        subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"], input=patch, text=True, cwd=folder, check=True
        )

        assert (folder / "f").read_text() == new
        assert os.listdir(folder) == ["f"]

    def test_two_texts_with_nothing_in_common_cost_little(self) -> None:
        before = [f"{number}\n" for number in range(40_000)]
        after = [f"{-number}\n" for number in range(1, 40_001)]

        told = edits(before, after)

        assert [sign for sign, _, _ in told] == ["-"] * 40_000 + ["+"] * 40_000


def _common(one: list[str], other: list[str]) -> int:
    """How long the longest sequence is that is in both, by trying all."""
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for left, first in enumerate(one):
        for right, second in enumerate(other):
            table[left + 1][right + 1] = (
                table[left][right] + 1
                if first == second
                else max(table[left][right + 1], table[left + 1][right])
            )
    return table[-1][-1]
