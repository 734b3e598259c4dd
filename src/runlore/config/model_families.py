"""The known families of models: a data file, since windows grow faster than releases come."""

import tomllib
from functools import cache
from importlib import resources

from runlore.domain.prompts.projection import ModelFamily

_FILE = "model_windows.toml"


@cache
def load_families() -> tuple[ModelFamily, ...]:
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return tuple(
        ModelFamily(
            name=name,
            prefixes=tuple(family["prefixes"]),
            window_tokens=family["window_tokens"],
            output_tokens=family["output_tokens"],
        )
        for name, family in tomllib.loads(text)["families"].items()
    )
