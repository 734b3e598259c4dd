"""Skills as somebody else writes them, for tests of the surfaces."""


def skill_md(
    name: str = "tidy-up", description: str = "Tidy the workspace after a release", body: str = ""
) -> str:
    """A SKILL.md of a stranger's."""
    text = body or "# Tidy up\n\n1. Run `git clean -fd`\n2. Run `make clean`\n"
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{text}"
