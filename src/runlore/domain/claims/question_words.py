"""The words that `question` tells questions apart by: tables with their reasons, and nothing that decides."""

from collections import defaultdict
from collections.abc import Iterable, Mapping


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PREPOSITIONS: Mapping[str, str] = (
    {
        word: word
        for word in _set(
            "on by for from to per of about after before between against as like near beyond above over since"
            " until into onto across during alongside behind without upon toward towards every each because"
            " unless when whenever while if für pour nach ab bis"
        )
    }
    | dict.fromkeys(
        _set("in at inside within under below underneath im bei unter dans sous à au en"), "where"
    )
    | dict.fromkeys(_set("with using via through mit avec über"), "with")
    | dict.fromkeys(_set("auf sur am um"), "on")
    | dict.fromkeys(_set("von vom durch par"), "by")
    | dict.fromkeys(_set("aus"), "from")
)
"""Each with the question that it asks: two that ask the same stand together."""

OF_TIME = _set("after before since until during every each when whenever while")
BEING_SOMEWHERE = _set("located found placed situated running listening held kept stored saved")
"""What says no more than being there."""

_DAY, _WEEK, _MONTH, _YEAR = 86_400.0, 604_800.0, 2_592_000.0, 31_536_000.0
FREQUENCIES: Mapping[str, float] = {
    **dict.fromkeys(_set("hourly stündlich"), 3600.0),
    **dict.fromkeys(_set("daily nightly täglich nächtlich quotidien quotidienne quotidiennement"), _DAY),
    **dict.fromkeys(_set("weekly wöchentlich hebdomadaire"), _WEEK),
    **dict.fromkeys(_set("fortnightly biweekly"), 2 * _WEEK),
    **dict.fromkeys(_set("monthly monatlich mensuel mensuelle mensuellement"), _MONTH),
    **dict.fromkeys(_set("quarterly"), 3 * _MONTH),
    **dict.fromkeys(_set("yearly annually jährlich annuel annuelle"), _YEAR),
    **dict.fromkeys(_set("once einmal"), 1.0),
    **dict.fromkeys(_set("twice zweimal"), 2.0),
}
"""Each with its period in seconds; the last ones with how often in the period that follows them."""

EVERY = _set("every each alle jede jeden jedes chaque")
RATE_FILLERS = _set("a an per every the im pro in der par")
PERIODS = {"night": _DAY, "nacht": _DAY, "nuit": _DAY}
AT_TIME = _set("at um à")


def _number_names(names: Iterable[str]) -> dict[str, str]:
    """Each name of a day or a month, also in the plural, with the number of it as a text."""
    found: dict[str, str] = {}
    for language in names:
        for number, name in enumerate(language.split()):
            found |= {form: str(number) for form in (name, f"{name}s")}
    return found


WEEKDAYS = _number_names(
    (
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
    )
)
MONTHS = _number_names(
    (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    )
)
TIMES = {*WEEKDAYS, *MONTHS} | _set(
    "today tomorrow tonight noon midnight morning afternoon evening night weekend weekday spring summer"
    " autumn winter"
)
NUMBERS: Mapping[str, float] = {
    word: float(number)
    for language in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "zéro - deux trois quatre cinq six sept huit neuf dix onze douze",
    )
    for number, word in enumerate(language.split())
    if word.isalpha()
} | {
    word: float(number)
    for word, number in zip(
        ("half", "fifteen", "twenty", "thirty", "forty", "fifty", "sixty", "ninety", "hundred", "thousand"),
        (0.5, 15, 20, 30, 40, 50, 60, 90, 100, 1000),
        strict=True,
    )
}
LOWER_BOUNDS = {
    *(
        ("at", "least"),
        ("more", "than"),
        ("no", "less"),
        ("minimum",),
        ("min",),
        ("mindestens",),
        ("au", "moins"),
    ),
    ("over",),
}
UPPER_BOUNDS = {
    *(("at", "most"), ("up", "to"), ("less", "than"), ("no", "more"), ("maximum",), ("max",), ("höchstens",)),
    *(("maximal",), ("bis", "zu"), ("au", "plus"), ("under",)),
}
BOUNDS = {each for each in LOWER_BOUNDS | UPPER_BOUNDS if len(each) > 1} | {
    ("under", each) for each in NUMBERS
}
_SCALED: Mapping[str, Mapping[float, str]] = {
    "time": {
        0.001: "ms millisecond milliseconds millisekunden",
        1: "s sec secs second seconds sekunde sekunden seconde secondes",
        60: "m min mins minute minutes minuten",
        3600: "h hr hrs hour hours stunde stunden heure heures",
        _DAY: "d day days tag tage tagen jour jours",
        _WEEK: "week weeks woche wochen semaine semaines",
        _MONTH: "month months monat monate monaten mois",
        _YEAR: "year years jahr jahre jahren",
    },
    "data": {
        1: "b byte bytes octets",
        2**10: "kb kib kilobytes ko",
        2**20: "mb mib megabytes mo m",
        2**30: "gb gib gigabytes g",
        2**40: "tb tib terabytes",
        2**50: "pb",
    },
    "length": {1: "mm cm m km inch inches foot feet metre metres meter meters mile miles px pixel pixels"},
    "temperature": {1: "degree degrees c f °c °f ° celsius fahrenheit grad"},
    "weight": {1: "g kg gram grams kilo kilos ton tons tonnes lb lbs pound pounds"},
    "money": {1: "euro euros eur dollar dollars usd cent cents pound pounds gbp chf"},
    "share": {1: "% percent prozent"},
    "power": {1: "w kw watt watts v volt volts"},
}
MEASURED = {measure: frozenset(" ".join(units.values()).split()) for measure, units in _SCALED.items()}
"""Units by what they measure; one letter may be several."""

SCALES = {
    unit: scale for units in _SCALED.values() for scale, listed in units.items() for unit in listed.split()
}
MEASURES = frozenset(f"amount of {measure}" for measure in MEASURED)
UNITS: Mapping[str, frozenset[str]] = {
    unit: frozenset(f"amount of {measure}" for measure, units in MEASURED.items() if unit in units)
    for unit in frozenset[str]().union(*MEASURED.values())
}
UNMEASURED = _set("unlimited infinite unbounded forever none")
"""Amounts without a number: they meet every one that has a unit."""

SWITCHING = _set("turned switched toggled")
ORDERING = _set("before after")
SPANNING = _set("after within nach binnen")
SPANS = _set("second minute hour day week month year sekunde stunde tag woche monat jahr")
"""The units whose article is left out: "after an hour"."""
EVENTS = _set(
    "save commit push merge exit start startup boot deploy release change tag request login logout error"
    " failure timeout close open install update import export upload demand shutdown pull checkout"
)
"""What sets something off: one event leaves room for others."""

OFFICES = _set("owner lead maintainer manager reviewer author tester designer architect admin director")
"""What one person may be beside something else."""

GRAINS: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(
        _set(
            "germany deutschland allemagne austria österreich autriche switzerland schweiz suisse france"
            " frankreich italy italien italie spain spanien espagne portugal poland polen pologne netherlands"
            " niederlande belgium belgien belgique ireland irland uk england scotland britain sweden schweden"
            " norway norwegen denmark dänemark finland finnland estonia czechia hungary romania greece turkey"
            " ukraine usa us canada kanada mexico brazil argentina chile india indien china japan korea"
            " singapore australia israel egypt nigeria kenya bavaria bayern california texas"
        ),
        ("place", 1),
    ),
    **dict.fromkeys(_set("eu europe europa asia asien africa america"), ("place", 2)),
    **dict.fromkeys(_set("spring summer autumn winter q1 q2 q3 q4"), ("date", 1)),
    **dict.fromkeys(MONTHS, ("date", 0)),
    **dict.fromkeys(_set("linux unix bsd"), ("system", 1)),
    **dict.fromkeys(_set("ubuntu debian fedora alpine arch nixos centos rhel suse freebsd"), ("system", 0)),
    **dict.fromkeys(_set("aws gcp azure cloud"), ("cloud", 1)),
    **dict.fromkeys(_set("ec2 ecs eks lambda s3 fargate gke aks"), ("cloud", 0)),
}
"""Words with what they are about and how much they take in: a wider one leaves room for one inside it."""

DEGREES = _set("only also still now very too quite rather so just already often always usually most")
NOT_ADVERBS = {*FREQUENCIES} | _set(
    "only family friendly early likely ugly reply supply apply assembly italy july"
)
JOINING = _set("and or but , nor")
PARTICLES = _set("up down out off over away back")

HAPPENING = _set(
    "run happen start begin occur meet commence läuft laufen startet beginnt beginnen commence tourne"
)
"""What is somewhere or at some time by this verb is there or then."""

ADDING = _set(
    "have support include contain accept depend rely connect talk speak know like need allow handle offer"
    " cover provide expose emit publish follow review work send own hat haben unterstützt enthält"
    " akzeptiert braucht a ont supporte accepte inclut"
)
"""What is done to many things at once: only how many of them there are leaves no room for another number."""

NEEDING = _set("need depend rely connect")
"""Those of them that want one version of a thing."""

ASKING = _set("on to at from as under behind until auf sur unter aus sous")
LIMITING = _set(
    "in on at for during when while if with after before until since inside outside under"
    " im bei für mit nach en dans sur pour avec"
)
ALSO = _set("also too auch aussi también")
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
FAMILIES: Mapping[str, frozenset[str]] = {
    "format": FORMATS,
    **{
        family: _set(names)
        for family, names in {
            "encoding": "utf-8 utf-16 latin-1 ascii",
            "database": "postgresql mysql mariadb sqlite oracle mssql mongodb cockroachdb dynamodb cassandra",
            "package manager": "npm yarn pnpm bun",
            "Python package manager": "pip poetry uv pipenv conda",
            "editor": "vim neovim emacs vscode helix",
            "shell": "bash zsh fish powershell",
            "cloud": "aws azure gcp hetzner scaleway digitalocean heroku linode vercel netlify render",
            "code host": "github gitlab bitbucket",
            "build server": "jenkins circleci buildkite travis teamcity",
            "bundler": "webpack rollup vite esbuild parcel",
            "web framework": "react vue angular svelte preact",
            "test runner": "pytest unittest nose",
            "script test runner": "jest vitest mocha",
            "broker": "kafka rabbitmq nats sqs activemq",
            "orchestrator": "kubernetes nomad swarm",
            "protocol": "rest graphql grpc soap",
            "licence": "mit apache gpl lgpl agpl bsd mpl",
            "log level": "debug info warn error",
            "time zone": "utc cet gmt pst",
            "merge": "squash rebase",
            "case": "snake_case camelcase pascalcase kebab-case snake-case",
        }.items()
    },
}
"""Names of things that take one role, so that one of them leaves no room for another."""

ALIASES = {
    "postgres": "postgresql",
    "k8s": "kubernetes",
    "mongo": "mongodb",
    "warning": "warn",
    "yml": "yaml",
}
FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names}

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
    ("slow sluggish langsam lent lente lents lentes", "fast quick rapid snappy schnell rapide rapides"),
    ("large big huge gross gros grosse", "small tiny little klein petit petite", "medium"),
    ("public publique öffentlich", "private internal confidential privat privé privée"),
    ("internal", "external"),
    ("open opened offen ouvert ouverte", "closed geschlossen fermé fermée"),
    (
        "on enabled active activated aktiv aktiviert eingeschaltet activé activée",
        "off disabled inactive deactivated inaktiv deaktiviert ausgeschaltet désactivé désactivée",
    ),
    ("up running online live", "down stopped paused offline dead"),
    (
        "required mandatory compulsory obligatory erforderlich verpflichtend obligatoire requis requise",
        "optional voluntary freiwillig facultatif facultative optionnel optionnelle",
        "forbidden prohibited banned verboten interdit interdite",
    ),
    (
        "allowed permitted erlaubt autorisé autorisée",
        "forbidden prohibited banned disallowed denied verboten interdit interdite",
    ),
    ("manual manuell manuel manuelle", "automatic automated automatisch automatique"),
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
                if word.endswith(("é", "ée", "dit", "dite", "ert", "erte")):
                    found[f"{word}s"][name] = number
    return dict(found)


SCALES_OF: Mapping[str, Mapping[str, int]] = _scales()
"""Each word with the scales that it is on, and the side: other sides of one scale contradict each other."""

ADJECTIVES = _set(
    "idempotent critical important fragile brittle robust modular atomic generic minimal legacy native noisy"
    " quiet popular unique proprietary experimental ready common rare secure compatible monolithic"
    " deterministic redundant efficient consistent accurate correct wrong obvious similar normal abnormal"
    " special specific central global unusual useful beta alpha valid trusted present absent mature"
    " httponly samesite nullable immutable slim heavy busy idle afraid allergic fond"
    " proud prone immune keen loyal"
    " fresh stale sensitive resilient opaque transparent explicit implicit verbose aware responsive"
    " recursive incremental exhaustive interactive reactive declarative imperative functional additive"
    " destructive intermittent persistent ephemeral transient independent dependent urgent frequent"
)
"""Qualities without an opposite here. They meet themselves, and nothing else."""

KINDS = _set("native monolithic proprietary")
"""Those of them that also say what a thing is: a native client is no web view."""

NEGATING = ("un", "in", "im", "ir", "non", "dis", "de")
COUNTING = _set("single multi double triple dual")

LETTERS = _set("alpha beta")
NAMED = _set("host server node machine box branch cluster proxy robot")
"""Letters that are names of such things, and else say how far something is."""

SLOTS = _set(
    "mode level type status state colour color theme size name version strategy format style policy kind"
    " priority value default setting visibility tier role stage phase environment region zone language"
    " length limit severity speed timeout retention ttl interval delay deadline duration price cost budget"
    " currency seed frequency"
)
"""The last word of a subject that names a place for one value: "log level" has one, whatever it says."""
