"""How long an exact search over vectors takes, beside the bare product of the same matrix.

256 dimensions, random vectors from a fixed seed. CPU time of the process, with as many threads as numpy
takes; set OPENBLAS_NUM_THREADS=1 for one.
"""

import os
import tempfile
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.measure import peak_memory_mb, print_table
from runlore.ports.embedder import Embedded
from runlore.recall.dense import DenseVectors, load_vectors

TITLE = "search over 10,000 and 1,000,000 vectors, against a bare product"

SIZES = (10_000, 1_000_000)
DIMENSIONS = 256
BATCH = 10_000
LIMIT = 50
SEED = 20_261_115


def main() -> None:
    """Print the table."""
    rows = [_row(size) for size in SIZES]
    columns = ["vectors", "product ms", "search ms", "of 1 % allowed ms", "save s", "load s", "file MB"]
    print_table([*columns, "erase one s", "peak MB"], rows)


def _row(size: int) -> list[object]:
    random = np.random.default_rng(SEED)
    index = DenseVectors("random")
    for start in range(0, size, BATCH):
        vectors = _units(random, BATCH)
        index.put(
            Embedded(key=f"{start + number}", mark="", vector=vector) for number, vector in enumerate(vectors)
        )
    query = _units(random, 1)[0]
    product = _product_ms(size, query)
    few = [str(number) for number in range(0, size, 100)]
    searched = _cpu_ms(lambda: index.search(query, limit=LIMIT))
    narrowed = _cpu_ms(lambda: index.search(query, limit=LIMIT, allowed=few))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vectors")
        saved = _cpu_ms(lambda: index.save(path), times=1) / 1e3
        loaded = _cpu_ms(lambda: load_vectors(path, "random"), times=1) / 1e3
        file_mb = os.path.getsize(path) / 1e6
    erased = _cpu_ms(lambda: index.erase(["0"]), times=1) / 1e3
    return [size, product, searched, narrowed, saved, loaded, file_mb, erased, peak_memory_mb()]


def _product_ms(size: int, query: NDArray[np.float64]) -> float:
    single = query.astype(np.float32)
    matrix = np.tile(single, (size, 1))
    return _cpu_ms(lambda: matrix @ single)


def _units(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    vectors = random.normal(size=(count, DIMENSIONS))
    units: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def _cpu_ms(call: Callable[[], object], *, times: int = 15) -> float:
    """The median; a call that is made once is not warmed up."""
    measured = []
    for _ in range(times + (times > 1)):
        start = time.process_time_ns()
        call()
        measured.append(time.process_time_ns() - start)
    return sorted(measured[-times:])[times // 2] / 1e6


if __name__ == "__main__":
    main()
