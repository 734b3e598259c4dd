"""The secret guard: what it finds, what it refuses by mistake, what a text costs, how hostile texts fare."""

import base64
import gzip
import hashlib
import json
import random
import re
import string
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import DataAbsent, cpu_percentiles, data_folder, print_table
from runlore.domain.guard import find_secrets, first_secret, redact
from runlore.domain.guard.view import one_allowance
from runlore.domain.guard.vocabulary import NAME_ANCHORS

TITLE = "the secret guard: recall, false positives, CPU time a text, hostile texts"

KB = 1_024
PROBE_SIZES_KB = (1, 16, 256, 1_024)
PROBES = {
    "one letter": "a",
    "random letters and digits": "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5",
    "key=key=key=": "key=",
    "password: password: ": "password: ",
    "a secret a line": "password=hunt" + "er2\n",
    "open quotes": 'token="',
    "opened keys": "-----BEGIN PRIVATE KEY-----\n",
    "addresses": "://a:",
    "percent escapes": "%41",
    "entities": "&#97;",
    "signatures": "sig=",
    "commands": "echo a | sudo -S ",
    "ends of keys": "A1b2C3d4E5f6G7h8\n-----END PRIVATE KEY-----\n",
    "words of passwords": "密码",
    "base64 of text": "cGFzc3dvcmQgaXMgaGFyZCB0byBndWVzcw ",
    "invisible characters": "p\u200ba",
    "full-width letters": "ｐ",
    "names that are all different": "VAR_#_TOKEN_COUNT=7 ",
    "a log of logins": "INFO token refreshed for user #, password policy ok, key id #\n",
    "all names in a row": "_".join(NAME_ANCHORS) + "#",
    "settings of a cloud": "  password = var.db_#_password\n  secret_key = data.x.#.token\n",
    "translations": '"password.a#.title": "Reset your password # token",\n',
    "ids": "id: aB3#xY-k4Ld-Zz9q-Q1w2-e3R4t5Y6u7I8\n",
    "near misses of tokens": "ghp_" + "aB3xY9kLm2Pq" * 2 + "#zzzzz ",
    "base64 in base64": base64.b64encode(base64.b64encode(b"password=hunt" + b"er2 " * 4)).decode() + " ",
    "options for users": "-u a:b#c -p d ",
    "pipes into passwords": "echo a# | sudo -S x | chpasswd ",
    "heads of columns": "password,token,secret,key#\n",
    "unprinted characters": "\x01token=",
    "passwords in other tongues": "пароль от базы это ",
    "bare tokens": "use A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6# now ",
    "names and tokens": "NAME_#=A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5\n",
    "pictures": "🔑token🔑=🔑",
    "colours": "\x1b[31mtoken\x1b[0m=A1b#C3d4 ",
}
SMALL_PROBES = {
    "an environment": "SERVICE#_API_KEY=value#\n",
    "tokens of a service": "OPENAI_API_KEY_#=sk-a1B2c3D4e5#F6g7H8\n",
    "settings of a database": "db#:\n  password: ${DB_PASS_#}\n  token: var.x#\n",
    "settings with stand-ins": '"secret_key_#": "your-key-#",\n',
    "properties": "app.auth.secret#=changeme#\n",
    "TOML": '[auth.#]\ntoken = "<token-#>"\n',
    "HCL": 'variable "db_password_#" {\n  default = "example#"\n}\n',
    "a manifest": "kind: Secret\ndata:\n  k#: dmFsdWU#\n",
    "variables of a container": "- name: API_TOKEN_#\n  value: x#y\n",
    "options": "--api-key=#a --token #b --password #c ",
    "headers": "X-Api-Key: #abc\nAuthorization: Bearer #abc\n",
    "addresses with users": "https://user#:pw#@host#/path ",
    "connection strings": "Server=db#;User ID=u#;Password=p#;",
    "arguments of calls": "connect('user#', 'pass#', token='t#')\n",
    "calls of clients": 'Client("a#bcd", "x#yz", key="k#")\n',
    "rows below a head": "user,password\nbob#,pw#\n",
    "a table": "| user | password |\n|---|---|\n| u# | p# |\n",
    "elements": "<apiKey>#abc</apiKey><password>#x</password>",
    "code of a login": "if token# == '' and secret# != password#: key# = auth#\n",
    "a search for token": "src/a#.py:12:    token_# = read_token(secret_#)\n",
    "JSON in JSON": '{\\"password\\": \\"p#\\", \\"token\\": \\"t#\\"}',
    "escapes around names": "pass%77ord=%70#&tok%65n=%71# ",
    "entities around names": "&#112;assword=a#b &quot;token&quot;:#c ",
    "colours around names": "\x1b[1mpassword\x1b[0m=\x1b[2mp#\x1b[0m ",
    "prefixes": "xyz_aB3#cD4eF5gH6iJ7kL8m abk_0123456789abcdef#0123456789abcdef ",
    "long runs": "aB3xY9kLm2PqRs7TuVw#aB3xY9kLm2PqRs7TuVw ",
    "encoded settings": "dG9rZW49YWJj#cGFzc3dvcmQ9eA== ",
    "hexadecimal text": "70617373776f72643d616263646566#70617373776f7264 ",
    "names in prose": "the password for host# is word# and the token of user# is x#y; ",
    "names with numbers": "PASSWORD_#=#\nTOKEN_#=#\nSECRET_#=#\n",
}
"""What comes as many small texts that look like settings, code or data."""
SMALL_CHARS = (300, 10_000)
DRAWS = 21
TOKEN = "@TOKEN@"
CONTEXTS = (
    "Please use @TOKEN@ for the deployment, it is the one from yesterday.",
    "ACME_CREDENTIAL=@TOKEN@\n",
    '{"name": "acme", "value": "@TOKEN@"}',
    "2026-05-03T12:00:01Z INFO starting with @TOKEN@",
    'client = Client("@TOKEN@")',
    "acme:\n  auth: @TOKEN@\n",
    "curl -H 'Authorization: Bearer @TOKEN@' https://api.acme.io/v1/me",
)
ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "digit": string.digits,
    "letter": string.ascii_letters,
    "url": string.ascii_letters + string.digits + "_-",
    "b64": string.ascii_letters + string.digits + "+/",
    "base32": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
KNOWN = {*ALPHABETS, "made", "made64", "basic", "uuid", "word", "phrase", "seed"}
WORDS = (
    "otter",
    "winter",
    "basil",
    "copper",
    "harbor",
    "falcon",
    "river",
    "stone",
    "candle",
    "meadow",
    "engine",
)
NOUNS = ("Otter", "Winter", "Basil", "Copper", "Harbor", "Falcon")
MADE: tuple[Callable[[random.Random], str], ...] = (
    lambda draw: f"{draw.choice(NOUNS)}{draw.randrange(1000, 9999)}!",
    lambda draw: (
        f"{draw.choice(NOUNS).lower()}{draw.choice('#-_.')}{draw.choice(NOUNS)}{draw.randrange(10, 99)}"
    ),
    lambda draw: "".join(draw.choices(ALPHABETS["alnum"] + "!#%*+", k=14)),
    lambda draw: "".join(draw.choices(ALPHABETS["lower"], k=10)),
)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A text of a data set, with what its origin calls it."""

    text: str
    kind: str
    source: str


def main() -> None:
    """Hostile texts and kinds need no data; the rest raises `DataAbsent` where the sets are missing."""
    report_hostile_texts()
    report_small_texts()
    report_kinds()
    report_lookalikes()
    positives = read_samples("positives.jsonl.gz")
    negatives = read_samples("negatives.jsonl.gz")
    turns = read_turns(data_folder("locomo", "locomo5.json"))
    report_recall(positives)
    report_false_positives(negatives, turns)
    report_cpu({"positives": positives, "negatives": negatives, "LoCoMo turns": turns})


def report_hostile_texts() -> None:
    """CPU time a kilobyte stays the same however long a text of the worst kind is; a megabyte of it, read and
    with what is found taken out, costs less than a second."""
    print("\nHostile texts, CPU microseconds a KB (made here), reading and redacting\n")
    columns = ("repeated", *(f"{size:,} KB" for size in PROBE_SIZES_KB), "last to first", "seconds a MB")
    rows = []
    for name, piece in PROBES.items():
        costs = [cpu_us_a_kb(piece, size) for size in PROBE_SIZES_KB]
        rows.append(
            (
                name,
                *(f"{cost:,.0f}" for cost in costs),
                f"{costs[-1] / costs[0]:.2f}",
                f"{costs[-1] * KB / 1e6:.2f}",
            )
        )
    print_table(columns, rows)


def report_small_texts() -> None:
    """A megabyte of small texts in one body costs no more than a second, whatever their size."""
    print("\nMany small texts in one body, CPU seconds a megabyte, reading and redacting\n")
    rows = [
        (name, *(f"{cpu_s_of_small_texts(piece, size):.2f}" for size in SMALL_CHARS))
        for name, piece in {**PROBES, **SMALL_PROBES}.items()
    ]
    print_table(("repeated", *(f"{size:,} characters each" for size in SMALL_CHARS)), rows)


def small_texts(piece: str, size: int, chars: int) -> Iterator[str]:
    """Texts of `size` characters that are `chars` together, made of one piece, whose `#` is a number."""
    for number in range(chars // size):
        places = range(number * size, number * size + size // len(piece) + 1)
        yield "".join(piece.replace("#", str(at)) for at in places)[:size]


def cpu_s_of_small_texts(piece: str, size: int) -> float:
    texts = [*small_texts(piece, size, KB * KB)]
    start = time.process_time_ns()
    with one_allowance():
        for text in texts:
            redact(text)
    return (time.process_time_ns() - start) / 1e9


def found_by_part() -> dict[str, dict[str, list[bool]]]:
    """Whether each text that is drawn of a kind is found, by part and kind."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(dict)
    for part, kind, form in read_kinds("guard_kinds.txt"):
        draw = random.Random(kind)
        contexts = (TOKEN,) if "⟦" in form else CONTEXTS
        texts = [around.replace(TOKEN, fill(form, draw)) for around in contexts * (DRAWS // len(contexts))]
        found[part][kind] = [*map(is_found, texts)]
    return found


def report_kinds() -> None:
    """What is found of texts drawn from public formats, by part; fitted kinds that fall short."""
    found = found_by_part()
    rows = []
    for part, kinds in found.items():
        places = {kind: hits for kind, hits in kinds.items() if kind.startswith("place-")}
        tokens = {kind: hits for kind, hits in kinds.items() if kind not in places}
        rows += [
            recall_row(f"{part}: {name}", some)
            for name, some in (("all", kinds), ("tokens", tokens), ("told by place", places))
        ]
    print("\nSecrets found, drawn from public formats (guard_kinds.txt)\n")
    print_table(("kinds", "number of kinds", "texts", "found", "mean of the kinds"), rows)
    print("\nFitted kinds that fall short\n")
    short = [
        (kind, len(hits) - sum(hits), len(hits))
        for part in ("fitted", "second fitted", "third fitted", "fourth fitted")
        for kind, hits in found[part].items()
        if not all(hits)
    ]
    print_table(("kind", "missed", "of"), short)


def refused_by_part() -> dict[str, dict[str, list[bool]]]:
    """Whether each text that is drawn of a look-alike is taken for a secret, by part and kind."""
    refused: dict[str, dict[str, list[bool]]] = defaultdict(dict)
    for part, kind, form in read_kinds("guard_lookalikes.txt"):
        draw = random.Random(kind)
        texts = (fill(form, draw).strip("⟦⟧") for _ in range(DRAWS))
        refused[part][kind] = [first_secret(text) is not None for text in texts]
    return refused


def report_lookalikes() -> None:
    """What is refused of texts that only look like secrets, by part, and which kinds these are."""
    refused = refused_by_part()
    print("\nLook-alikes refused (guard_lookalikes.txt)\n")
    print_table(
        ("kinds", "number of kinds", "texts", "refused", "mean of the kinds"),
        [recall_row(part, kinds) for part, kinds in refused.items()],
    )
    print(
        "\nFitted look-alikes that are refused:", *(k for k, hits in refused["fitted"].items() if any(hits))
    )


def read_kinds(name: str) -> Iterator[tuple[str, str, str]]:
    """Part, name and form of every kind in a file."""
    part = ""
    for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            part = line.strip("[]")
        elif line and not line.startswith("#"):
            kind, _, form = line.partition(" | ")
            yield part, kind, form.replace("\\n", "\n").replace("\\\n", "\\n").replace("\\x1b", "\x1b")


def fill(form: str, draw: random.Random) -> str:
    """A form with its parts drawn, the secret between its marks."""

    def part(match: re.Match[str]) -> str:
        if match[1] == "uuid":
            return str(uuid.UUID(int=draw.getrandbits(128), version=4))
        if match[1] in {"word", "phrase", "seed"}:
            count, between = {"word": (1, ""), "phrase": (5, "-"), "seed": (12, " ")}[match[1]]
            return between.join(draw.choices(WORDS, k=count))
        if match[1] in {"made", "made64", "basic"}:
            made = draw.choice(MADE)(draw)
            encoded = base64.b64encode((f"admin:{made}" if match[1] == "basic" else made).encode()).decode()
            return made if match[1] == "made" else encoded
        return "".join(draw.choices(ALPHABETS[match[1]], k=int(match[2])))

    drawn = re.sub(
        r"\{(\w+)(?::(\d+))?\}", lambda match: part(match) if match[1] in KNOWN else match[0], form
    )
    return drawn if "⟦" in drawn else f"⟦{drawn}⟧"


def is_found(marked: str) -> bool:
    """Whether all of the secret between the marks is found."""
    start, end = marked.index("⟦"), marked.index("⟧") - 1
    text = marked.replace("⟦", "").replace("⟧", "")
    # What stands around the random part of a token may be left: `sk-`, a host, an equals sign at the end.
    return any(each.start <= max(start, end - 12) and each.end >= end - 2 for each in find_secrets(text))


def report_recall(positives: Sequence[Sample]) -> None:
    """The share that is found, as a plain share and as a mean over kinds, fitted and set aside."""
    found: dict[str, list[bool]] = defaultdict(list)
    for sample in positives:
        found[sample.kind].append(first_secret(sample.text) is not None)
    print("\nSecrets found (gitleaks, detect-secrets; every third kind by its hash is set aside)\n")
    print_table(
        ("kinds", "number of kinds", "texts", "found", "mean of the kinds"),
        [
            recall_row("all", found),
            recall_row("fitted", {kind: hits for kind, hits in found.items() if not is_set_aside(kind)}),
            recall_row("set aside", {kind: hits for kind, hits in found.items() if is_set_aside(kind)}),
        ],
    )
    print("\nKinds that fall short\n")
    short = [
        (kind, "set aside" if is_set_aside(kind) else "fitted", len(hits) - sum(hits), len(hits))
        for kind, hits in sorted(found.items())
        if not all(hits)
    ]
    print_table(("kind", "part", "missed", "of"), short)


def report_false_positives(negatives: Sequence[Sample], turns: Sequence[Sample]) -> None:
    """The share of harmless texts that is refused, by where they come from."""
    by_source: dict[str, list[bool]] = defaultdict(list)
    for sample in (*negatives, *turns):
        by_source[sample.source].append(first_secret(sample.text) is not None)
    everything = [hit for source, hits in by_source.items() if source != LOCOMO for hit in hits]
    print("\nHarmless texts refused\n")
    print_table(
        ("source", "texts", "refused", "share"),
        [
            (name, len(hits), sum(hits), percent(sum(hits), len(hits)))
            for name, hits in [*sorted(by_source.items()), ("all negatives, without LoCoMo", everything)]
        ],
    )


def report_cpu(sets: dict[str, Sequence[Sample]]) -> None:
    """What a text costs, beside a bare loop that only takes its length and folds its case."""
    print("\nCPU time a text, microseconds\n")
    rows = []
    for name, samples in sets.items():
        texts = [sample.text for sample in samples]
        for label, call in (
            ("first_secret", first_secret),
            ("find_secrets", find_secrets),
            ("bare loop", bare),
        ):
            cost = cpu_percentiles(call, texts, warm_up=len(texts))
            rows.append(
                (name, label, *(f"{ms * 1_000:,.1f}" for ms in (cost.p50_ms, cost.p99_ms, cost.max_ms)))
            )
    print_table(("texts", "call", "p50", "p99", "max"), rows)


LOCOMO = "snap-research/LoCoMo (CC BY-NC 4.0)"


def read_samples(name: str) -> list[Sample]:
    with gzip.open(data_folder("secrets", name), "rt", encoding="utf-8") as lines:
        objects = [json.loads(line) for line in lines]
    return [Sample(text=each["text"], kind=each["kind"], source=each["source"]) for each in objects]


def read_turns(path: Path) -> list[Sample]:
    """The turns of the conversations: every object with a speaker and a text."""
    conversations: object = json.loads(path.read_text(encoding="utf-8"))
    return [Sample(text=text, kind="turn", source=LOCOMO) for text in spoken(conversations)]


def spoken(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "speaker" in node and isinstance(node.get("text"), str):
            yield node["text"]
        for value in node.values():
            yield from spoken(value)
    elif isinstance(node, list):
        for value in node:
            yield from spoken(value)


def is_set_aside(kind: str) -> bool:
    """Whether rules are judged by a kind, and never fitted on its texts."""
    return hashlib.sha256(f"aside {kind}".encode()).digest()[0] % 3 == 0


def recall_row(name: str, found: dict[str, list[bool]]) -> tuple[str, int, int, str, str]:
    hits = [hit for each in found.values() for hit in each]
    shares = [sum(each) / len(each) for each in found.values()]
    return name, len(found), len(hits), percent(sum(hits), len(hits)), percent(sum(shares), len(shares))


def percent(part: float, whole: int) -> str:
    return f"{100 * part / whole:.2f}%"


def bare(text: str) -> int:
    return len(text) + len(text.casefold())


def cpu_us_a_kb(piece: str, size_kb: int) -> float:
    """CPU time for a text of this size made of one repeated piece, whose `#` is its number; short texts are
    read several times."""
    pieces = (piece.replace("#", str(number)) for number in range(size_kb * KB // len(piece) + 1))
    text = "".join(pieces)[: size_kb * KB]
    return min(_cpu_us(text) for _ in range(5 if size_kb < 64 else 1)) / size_kb


def _cpu_us(text: str) -> float:
    start = time.process_time_ns()
    redact(text)
    return (time.process_time_ns() - start) / 1_000


if __name__ == "__main__":
    try:
        main()
    except DataAbsent as absent:
        print(f"\nnot run: {absent}")
        sys.exit(0)
