"""The page of metrics, printed from what a scrape is made of."""

from runlore.api.metrics import REQUESTS, SECONDS, Held, families

_PAGE = """# Metrics

{generated}
`GET /metrics` answers them in Prometheus's text format, to a token of the role `reader` or `operator`. Times
are in seconds. Beside the HTTP ones, which count the calls of one process since its start, they tell what the
store holds: every daemon of one database tells the same. [operations.md](../operations.md) has rules, a
dashboard and how they are scraped.

| metric | kind | labels | meaning |
|---|---|---|---|
{rows}
"""


def metrics_page(generated: str) -> str:
    rows = [_row(*SECONDS, kind="histogram"), _row(f"{REQUESTS[0]}_total", *REQUESTS[1:], kind="counter")]
    for family in families(Held()):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        rows.append(_row(name, family.documentation, tuple(family.samples[0].labels), kind=family.type))
    return _PAGE.format(generated=generated, rows="\n".join(sorted(rows)))


def _row(name: str, about: str, labels: tuple[str, ...], *, kind: str) -> str:
    return f"| `{name}` | {kind} | {', '.join(f'`{each}`' for each in labels) or '-'} | {about} |"
