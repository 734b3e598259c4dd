"""The two ways in which the index does its inner loops: numpy, and the kernel as this source compiles."""

import atexit
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from hatch_build import compile_kernel, compiler
from runlore.recall import RankingIndex
from runlore.recall import kernel as kernel_module
from runlore.recall.index import FrozenIndex
from runlore.recall.kernel import Kernel

SOURCE = Path(kernel_module.__file__).with_suffix(".c")


@cache
def compiled() -> Kernel:
    """The kernel, compiled once for this process, whatever was installed."""
    folder = Path(tempfile.mkdtemp(prefix="runlore-kernel-"))
    atexit.register(shutil.rmtree, folder)
    said = compile_kernel(SOURCE, folder / "kernel.so")
    assert not said, said
    return Kernel(folder / "kernel.so")


def all_engines() -> list[Kernel | None]:
    """Numpy, and the kernel where there is a compiler."""
    return [None, compiled()] if compiler() else [None]


def by_each_engine(index: RankingIndex) -> list[FrozenIndex]:
    """The index as it is now, searched by one and by the other."""
    frozen = index.freeze()
    return [replace(frozen, view=replace(frozen.view, kernel=kernel)) for kernel in all_engines()]


engines = st.deferred(lambda: st.sampled_from(all_engines()))
