"""One parser given what reaches more of its branches: `python -m tests.proof.coverage_fuzz NAME RUNS`.

The fuzzer is atheris, from the packages of the long rings; it watches our modules while they run. Ends with
an error as soon as the parser raises anything but a refusal with a code, or takes too long for one text.
"""

import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["runlore"]):
    from runlore.domain.errors import RunloreError
    from tests.proof.test_fuzz import CPU_S_MAX, PARSERS, SEED

LENGTH_MAX = 4096


def main(name: str, runs: str) -> None:
    """Begin with the samples that are right; the fuzzer ends the process."""
    parse, samples = PARSERS[name]
    with tempfile.TemporaryDirectory() as corpus:
        for number, sample in enumerate(samples):
            Path(corpus, str(number)).write_bytes(sample)

        def give(data: bytes) -> None:
            with suppress(RunloreError):
                parse(data)

        options = (f"-runs={runs}", f"-max_len={LENGTH_MAX}", f"-timeout={CPU_S_MAX:.0f}", f"-seed={SEED}")
        atheris.Setup([sys.argv[0], corpus, *options], give)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
