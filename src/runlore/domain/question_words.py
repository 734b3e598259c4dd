"""The words that `question` tells questions apart by: tables with their reasons, and nothing that decides."""

from collections import defaultdict
from collections.abc import Mapping


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PREPOSITIONS: Mapping[str, str] = (
    {
        word: word
        for word in _set(
            "on by for from to per of about after before between against as like near beyond above over since"
            " until into onto across during alongside behind without upon toward towards every each because"
            " unless when whenever while if"
        )
    }
    | dict.fromkeys(("in", "at", "inside", "within", "under", "below", "underneath"), "where")
    | dict.fromkeys(("with", "using", "via", "through"), "with")
)
"""Each with the question that it asks: two that ask the same stand together."""

OF_TIME = _set("after before since until during every each when whenever while")
BEING_SOMEWHERE = _set("located found placed situated running listening held kept stored saved")
"""What says no more than being there."""

FREQUENCIES = _set(
    "hourly daily nightly weekly fortnightly biweekly monthly quarterly yearly annually once twice"
)
TIMES = _set(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july"
    " august september october november december today tomorrow tonight noon midnight morning afternoon"
    " evening night weekend weekday spring summer autumn winter"
)
NUMBERS = _set(
    "zero one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty"
    " sixty hundred thousand half"
)
BOUNDS = {
    *(("at", "least"), ("at", "most"), ("up", "to"), ("less", "than"), ("more", "than"), ("no", "more")),
    *(("under", each) for each in NUMBERS),
}
MEASURED = {
    "time": "ms s sec secs second seconds millisecond milliseconds m min mins minute minutes h hr hrs"
    " hour hours d day days week weeks month months year years",
    "data": "b kb mb gb tb pb kib mib gib tib byte bytes kilobytes megabytes gigabytes terabytes m g",
    "length": "mm cm m km inch inches foot feet metre metres meter meters mile miles px pixel pixels",
    "temperature": "degree degrees c f °c °f ° celsius fahrenheit",
    "weight": "g kg gram grams kilo kilos ton tons tonnes lb lbs pound pounds",
    "money": "euro euros eur dollar dollars usd cent cents pound pounds gbp chf",
    "share": "% percent",
    "power": "w kw watt watts v volt volts",
}
"""Units by what they measure; one letter may be several."""

MEASURES = frozenset(f"amount of {measure}" for measure in MEASURED)
UNITS: Mapping[str, frozenset[str]] = {
    unit: frozenset(f"amount of {measure}" for measure, units in MEASURED.items() if unit in units.split())
    for unit in _set(" ".join(MEASURED.values()))
}
UNMEASURED = _set("unlimited infinite unbounded forever none")
"""Amounts without a number: they meet every one that has a unit."""

DEGREES = _set("only also still now very too quite rather so just already often always usually most")
NOT_ADVERBS = _set("only family friendly early likely ugly reply supply apply assembly italy july")
JOINING = _set("and or but , nor")
PARTICLES = _set("up down out off over away back")

NAMING = _set("called named titled nicknamed dubbed")
_ANYWHERE = _set("used validated tested verified checked mentioned")
MANIFOLD: Mapping[str, frozenset[str]] = {
    "by": _set("triggered called invoked imported used consumed mentioned"),
    "on": _ANYWHERE,
    "in": _ANYWHERE,
}
"""What many do, and in many places: "triggered by tags" leaves room for "triggered by pull requests"."""

FORMATS = _set(
    "webp png jpeg jpg gif svg json jsonl yaml toml xml csv tsv parquet avro orc protobuf markdown html pdf"
    " latex docx xlsx utf-8 mp3 mp4 flac wav zip gzip"
)
PLACES = _set(
    "s3 r2 gcs minio bucket folder directory database redis vault cloud repo repository home office"
)
"""What is "in" one of these is there; what is "in" a format is written so."""

MANNERS = {"hand": "manual", "manually": "manual", "automatically": "automatic"}
"""How something is done, as the quality that it comes to."""

PARTICIPLES = _set(
    "written rewritten handwritten built rebuilt run rerun cut kept made sent set reset held done taken given"
    " known shown driven chosen hidden read bound broken frozen split put led fed paid sold bought brought"
    " caught left lost spent understood drawn grown thrown begun hit shut spread bundled meant found"
    " used overridden forbidden stolen forgotten woken dealt"
)
NOT_PARTICIPLES = _set(
    "speed embed memcached ahmed mohamed mohammed exceed indeed hundred sacred kindred breed bleed during"
    " string"
)
"""Words that only look like one. Short ones (`feed`, `seed`) are told apart by their length."""

ADJECTIVE_ENDS = ("able", "ible", "less", "ful", "ous")
NOT_ADJECTIVES = _set("airtable timetable variable cable ansible bible unless")

_OPPOSITES = (
    ("slow sluggish", "fast quick rapid snappy"),
    ("large big huge", "small tiny little", "medium"),
    ("public", "private internal confidential"),
    ("internal", "external"),
    ("open opened", "closed"),
    ("on enabled active activated", "off disabled inactive deactivated"),
    ("up running online live", "down stopped paused offline dead"),
    ("required mandatory compulsory obligatory", "optional voluntary", "forbidden prohibited banned"),
    ("allowed permitted", "forbidden prohibited banned disallowed denied"),
    ("manual", "automatic automated"),
    ("synchronous sync", "asynchronous async"),
    ("dark", "light bright"),
    ("short brief concise", "long verbose lengthy"),
    ("easy simple", "hard difficult complex complicated"),
    ("clean", "dirty"),
    ("safe", "dangerous risky"),
    ("good", "bad"),
    ("cheap", "expensive costly"),
    ("old", "new"),
    ("empty", "full"),
    ("hot", "warm", "cold"),
    ("strict", "lenient loose relaxed"),
    ("local", "remote"),
    ("static", "dynamic"),
    ("relative", "absolute"),
    ("temporary", "permanent"),
    ("flaky", "reliable stable"),
    ("broken failing", "working passing green"),
    ("shared", "dedicated isolated exclusive"),
    ("free", "paid"),
    ("physical", "virtual"),
    ("primary", "secondary"),
    ("eager", "lazy"),
    ("deprecated obsolete retired", "supported maintained current"),
    ("done finished complete", "pending unfinished ongoing"),
    ("deleted removed dropped", "kept retained preserved"),
    ("accepted approved", "rejected declined"),
    ("included", "excluded omitted"),
    ("high", "low"),
    ("wide", "narrow"),
    ("early", "late"),
    ("same", "different"),
    ("serial sequential", "parallel concurrent"),
    ("sync synchronised synchronized", "stale outdated"),
    ("true yes", "false no"),
    ("red", "green", "blue", "yellow", "orange", "purple", "black", "white", "grey gray", "pink", "brown"),
)


def _scales() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for sides in _OPPOSITES:
        name = "/".join(side.split()[0] for side in sides[:2])
        for number, side in enumerate(sides):
            for word in side.split():
                found[word][name] = number
    return dict(found)


SCALES_OF: Mapping[str, Mapping[str, int]] = _scales()
"""Each word with the scales that it is on, and the side: other sides of one scale contradict each other."""

ADJECTIVES = _set(
    "idempotent critical important fragile brittle robust modular atomic generic minimal legacy native noisy"
    " quiet popular unique proprietary experimental ready common rare secure compatible monolithic"
    " deterministic redundant efficient consistent accurate correct wrong obvious similar normal abnormal"
    " special specific central global unusual useful beta alpha valid trusted present absent mature"
    " slim heavy busy idle afraid allergic fond proud prone immune keen loyal"
    " fresh stale sensitive resilient opaque transparent explicit implicit verbose aware responsive"
    " recursive incremental exhaustive interactive reactive declarative imperative functional additive"
    " destructive intermittent persistent ephemeral transient independent dependent urgent frequent"
)
"""Qualities without an opposite here. They meet themselves, and nothing else."""

KINDS = _set("native monolithic proprietary")
"""Those of them that also say what a thing is: a native client is no web view."""

NEGATING = ("un", "in", "im", "ir", "non", "dis", "de")
COUNTING = _set("single multi double triple dual")

SLOTS = _set(
    "mode level type status state colour color theme size name version strategy format style policy kind"
    " priority value default setting visibility tier role stage phase environment region zone language"
    " length limit severity speed timeout retention ttl interval delay deadline duration price cost budget"
)
"""The last word of a subject that names a place for one value: "log level" has one, whatever it says."""
