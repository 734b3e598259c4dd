"""A sentence as the statements in it that stand on their own, each without what leads to it.

A clause is taken apart from the others only where none of them governs or limits it: behind "we should see",
and before ", they say", it is told with the whole sentence and shares its doubts.
"""

from collections.abc import Iterator, Sequence

from runlore.domain.claims import support_words as table
from runlore.domain.claims.clauses import GAP, is_order
from runlore.domain.claims.question import is_adverb, is_time
from runlore.domain.claims.wording import Word
from runlore.domain.languages.detection import language_of
from runlore.domain.languages.english import ENGLISH

WORDS_MAX = 300
"""Longer sentences are tables, logs and encoded data."""


def parts_of(words: Sequence[Word]) -> Iterator[list[list[Word]]]:
    """The sentences in some words, each as its independent clauses."""
    part: list[Word] = []
    for word in words:
        part.append(word)
        if _ends(word):
            yield _independent_clauses(part)
            part = []
    if part:
        yield _independent_clauses(part)


def without_lead_in(words: Sequence[Word]) -> list[Word]:
    """The words without labels, lead-ins and asides, which say nothing themselves."""
    rest = _drop_lead_in(words)
    cores = tuple(word.core for word in rest)
    length = next((len(each) for each in table.LEAD_OUTS if cores[-len(each) :] == each != cores), 0)
    if length:
        rest = [*rest[: -length - 1], Word(rest[-length - 1].core, rest[-1].tail)]
    return _without_asides(rest)


def is_ordered(cores: Sequence[str]) -> bool:
    """Whether a sentence asks for what it says: "the sidebar is hidden, make it so"."""
    return any(each in table.MAKE_IT_SO for each in zip(cores, cores[1:], cores[2:], strict=False))


def is_hedge(word: str, before: str) -> bool:
    """Whether a word is an adverb that may hedge; behind a preposition stands a name, as LaunchDarkly."""
    return is_adverb(word) and word not in table.ADVERBS and before not in table.PLACING


def foreign_doubts(sentence: str) -> frozenset[str]:
    """What leaves a sentence of another language in doubt that is written with spaces."""
    language = language_of(sentence)
    is_told_by_words = language is ENGLISH or not language.is_spaced
    return frozenset() if is_told_by_words else language.cues_in(sentence) & table.DOUBTFUL_CUES


def _ends(word: Word) -> bool:
    if any(stop in word.tail for stop in "!?;。！？；؟"):
        return True
    is_letter = len(word.core) < 2 and not word.core.isdigit()
    # "e.g" and "u.s" are short, "stage.example.net", "docs/stage.md" and "3.11" are words.
    is_dotted = "." in word.core and all(
        len(part) < 3 and not part.isdigit() for part in word.core.split(".")
    )
    return "." in word.tail and not (is_letter or word.core in table.ABBREVIATIONS or is_dotted)


def _independent_clauses(words: list[Word]) -> list[list[Word]]:
    found: list[list[Word]] = []
    while 2 < len(words) <= WORDS_MAX:
        lead, rest = words[: -len(_drop_lead_in(words))], _drop_lead_in(words)
        pieces = _split_first(rest)
        found.append([*lead, *pieces[0]])
        found += pieces[1:-1]
        if len(pieces) == 1:
            return found
        words = pieces[-1]
    return [*found, words] if words else found


def _split_first(words: list[Word]) -> list[list[Word]]:
    """The first statement, and last what is left of the sentence, where the two stand apart."""
    cores = tuple(word.core for word in words)
    found = _split_opening(words, cores)
    label = next((at for at, word in enumerate(words) if word.is_label), len(words))
    for at in range(1, 0 if is_ordered(cores) else min(label + 1, len(words) - 1)):
        found = found or _split_at(words, cores, at)
    return found or [words]


def _split_opening(words: list[Word], cores: tuple[str, ...]) -> list[list[Word]]:
    """A clause that a sentence begins with and calls as true as itself: "Now that the API is public, ..."."""
    opener = next((each for each in table.FACTIVES if cores[: len(each)] == each), ())
    if opener == ("since",) and is_time(cores[1]) and cores[2] in _OWN_SUBJECTS:
        return [words[2:]]  # "Since March the CDN is Fastly"
    comma = next((at for at, word in enumerate(words) if opener and "," in word.tail), 0)
    if cores[0] == "dass":
        return [_with_verb_second(words[1:])]
    if opener == ("as",) and table.LINKS.isdisjoint(cores[:comma]):
        return []  # "As a customer, I ..." begins a story
    if 0 < len(opener) <= comma < len(words) - 1 and cores[comma + 1] not in _STEPS:
        return [words[len(opener) : comma + 1], words[comma + 1 :]]
    return [words[1:]] if opener in _CAUSES and not comma and cores[1] in _OWN_SUBJECTS else []


def _split_at(words: list[Word], cores: tuple[str, ...], at: int) -> list[list[Word]]:
    """The clauses before and behind a word that begins one; none where one of them governs the other."""
    is_paused, is_asked = "," in words[at - 1].tail, "?" in words[-1].tail
    if not is_paused and cores[at] not in _JOINTS:
        return []
    said, behind = cores[:at], _clause_behind(words, at)
    if cores[at] == "which" and is_paused and _is_noun_phrase(said):
        end = at + len(behind)
        relative = [*words[:at], *words[at + 1 : end]]
        return [relative, [*words[:at], *words[end:]] if end < len(words) else []]
    joint = _joint_at(cores, at, is_paused=is_paused, is_asked=is_asked)
    is_apart = joint is not None and _is_statement(said) and _leaves_alone(behind, joint)
    if is_asked or is_apart:
        is_apart = is_apart and not foreign_doubts(" ".join(cores))
        return [words[:at], words[at + (joint or 0) :]] if is_apart else []
    return _split_remark(words, cores, at, is_paused=is_paused)


def _split_remark(words: list[Word], cores: tuple[str, ...], at: int, *, is_paused: bool) -> list[list[Word]]:
    """The parts before and behind what leads to a statement, gives a reason, or sets a thing aside."""
    said, behind = cores[:at], _clause_behind(words, at)
    is_led_in = _lead_in(words[at:]) > 1 or cores[at] in ("btw", "fyi")
    if is_paused and is_led_in and cores[at - 1] not in table.LINKS:
        return [words[:at], words[at:]]
    if reason := _reason_at(cores, at, is_paused=is_paused):
        is_german = cores[at] in ("weil", "da")
        return [words[:at], _with_verb_second(words[at + reason :]) if is_german else words[at + reason :]]
    is_end = at + len(behind) == len(words)
    if cores[at] in ("but", "sondern") and is_end and (kept := _before_denied(said, behind)):
        return [[*words[:kept], *words[at + 1 :]]]
    is_contrast = is_paused and is_end and _is_contrast(behind, said)
    return [words[:at], words, []] if is_contrast and (_is_statement(said) or is_order(said)) else []


def _before_denied(said: Sequence[str], behind: Sequence[str]) -> int:
    """How many words stand before what is denied only to name another: "the queue is not Kafka but NATS"."""
    denied = next((at for at, word in enumerate(said) if word in ("not", "nicht")), 0)
    is_link = denied > 0 and said[denied - 1] in table.LINKS and _is_statement(said[: denied - 1])
    is_short = 0 < len(said) - denied - 1 <= _CONTRAST_WORDS_MAX and len(behind) <= _CONTRAST_WORDS_MAX
    return denied if is_link and is_short and table.SMALL.isdisjoint(behind[1:]) else 0


def _with_verb_second(words: list[Word]) -> list[Word]:
    """A German clause whose verb stands last, as it is said on its own: "der Server hat keinen Zugang"."""
    if (
        len(words) <= _REMARK_WORDS_MAX
        or words[0].core not in _DEFINITE
        or any(word.tail for word in words[:-1])
    ):
        return words
    return [*words[:2], Word(words[-1].core), *words[2:-2], Word(words[-2].core, words[-1].tail)]


def _clause_behind(words: Sequence[Word], at: int) -> tuple[str, ...]:
    """The words from here to the next comma."""
    end = next((index + 1 for index in range(at, len(words)) if "," in words[index].tail), len(words))
    return tuple(word.core for word in words[at:end])


def _reason_at(cores: Sequence[str], at: int, *, is_paused: bool) -> int:
    """How many words here open a reason that is as true as what it stands behind. Without a comma nobody
    knows what a negation or an order reaches: "not empty because ...", "restart it because ..."."""
    openers = table.REASONS + (table.PAUSED_REASONS if is_paused else ())
    length = next((len(each) for each in openers if cores[at : at + len(each)] == each), 0)
    said = cores[:at]
    is_cause = cores[at] in _ORDER_REASONS and cores[at + 1] in _OWN_SUBJECTS
    if is_cause and is_order(said):
        length = 1
    elif not is_paused and (is_order(said) or not table.NEGATIONS.isdisjoint(said)):
        return 0
    elif is_cause and not table.LINKS.isdisjoint(cores[at + 1 :]):
        length = 1  # "It fails since the disk is full": what is so now is no time
    if at < 2 or at + length + 1 >= len(cores) or cores[at + length] == "of":
        return 0
    is_free = table.GOVERNING.isdisjoint(said) and table.DEPICTED.isdisjoint(said)
    return length if is_free and said[0] not in table.QUESTION_OPENERS else 0


def _joint_at(cores: Sequence[str], at: int, *, is_paused: bool, is_asked: bool) -> int | None:
    """How many words join a clause that begins here to the one before; None where none does."""
    pair = cores[at : at + 2]
    if is_asked or (is_paused and _is_request(cores[at:])):
        return 0 if is_paused and _asks_something_else(cores, at) else None
    if pair in table.DOUBT_PAIRS:
        return None
    if cores[at] in table.CONSEQUENCES and (is_paused or cores[at + 1] in _OWN_SUBJECTS | {"you"}):
        return 1
    if is_paused and pair in _COMMENTS:
        return 2
    joint = int(cores[at] in _JOINERS or (is_paused and cores[at] == "while"))
    if not (joint or is_paused) or at + joint + 1 >= len(cores):
        return None
    is_prohibition = cores[at + joint : at + joint + 2] == ("do", "not")
    return joint if is_prohibition or cores[at + joint] in _OWN_SUBJECTS else None


def _is_request(asked: Sequence[str]) -> bool:
    return asked[0] == "please" or (is_order(asked) and asked[1] in table.OBJECTS)


def _is_prohibition(asked: Sequence[str]) -> bool:
    """Whether words forbid something to be done, as to what was just stated: ", please do not touch it"."""
    rest = asked[1:] if asked[0] == "please" else asked
    return (
        rest[:2] == ("do", "not") and table.CHECKING.isdisjoint(rest[2:3]) and table.HEARSAY.isdisjoint(rest)
    )


def _asks_something_else(cores: Sequence[str], at: int) -> bool:
    """Whether what is asked behind a statement leaves it one: it does not ask about the statement."""
    said, asked = {*cores[:at]} - table.SMALL, cores[at:]
    if _is_prohibition(asked):
        return True
    is_request = _is_request(asked) or asked[:2] in _REQUESTS
    is_other = said.isdisjoint(asked) and asked[0] in table.QUESTION_OPENERS | {"will", "do"}
    is_tag = table.TAGS.issuperset(asked)
    return (is_request or is_other) and not is_tag and table.CHECKING.isdisjoint(asked)


def _is_statement(said: Sequence[str]) -> bool:
    """Whether words are one statement, or a prohibition, that governs nothing behind it."""
    start = next((at for at, word in enumerate(said) if word not in _OPENING), 0)
    body = said[start:]
    modals = [at for at, word in enumerate(body) if word in table.MODALS]
    if any(body[at : at + 2] != ("can", "not") for at in modals) or _governs(body):
        return False
    is_linked = not table.LINKS.isdisjoint(body)
    openers = table.CLAUSE_OPENERS if is_linked else table.CLAUSE_OPENERS - {"that"}
    if GAP in said or not openers.isdisjoint(body[1:]):
        return False
    if body[0] in _NOT_YET or (said[:2] == ("do", "not") or body[0] in table.NEGATIONS):
        return not is_linked and table.DEPICTING.isdisjoint(body)
    own = body[2:] if body[0] in _DEFINITE and body[1:2] == ("tests",) else body  # "the tests are in spec"
    if body[0] in table.CONDITIONS or not table.DEPICTED.isdisjoint(own):
        return False
    return body[0] in table.BEFORE_SUBJECTS or (is_linked and not is_order(body))


def _governs(body: Sequence[str]) -> bool:
    """Whether words tell of somebody's words or wishes, or of a case: what follows may belong to them."""
    if not table.GOVERNING.isdisjoint(body) or any(map(is_hedge, body, ("", *body))):
        return True
    reported = next((at for at, word in enumerate(body) if word in table.HEARSAY), len(body))
    return not table.LINKS.isdisjoint(body[reported:])


def _leaves_alone(clause: Sequence[str], joint: int) -> bool:
    """Whether a clause says nothing of the statement that it stands behind: "so they say" does."""
    if len(clause) == joint or not table.SAYING.isdisjoint(clause):
        return False
    if clause[0] in table.CONSEQUENCES or clause[:2] in _COMMENTS:
        return len(clause) > _REMARK_WORDS_MAX
    clause = clause[joint:]
    points_back = not _POINTERS.isdisjoint(clause) or clause[-1] in table.ANAPHORS
    points_back = points_back and not _is_prohibition(clause)
    is_own = clause[0] in table.SPEAKERS
    return not points_back and not (is_own and not table.UNSURE.isdisjoint(clause))


def _is_contrast(clause: Sequence[str], said: Sequence[str]) -> bool:
    """Whether words set a thing aside, ", not the old one", and limit nothing: ", not on Fridays". Behind "in
    spec" ", not in tests" does so."""
    rest = clause[1:]
    is_parallel = len(rest) > 1 and rest[0] in table.PLACING and rest[0] in said
    if is_parallel:
        rest = rest[1:]
    if not rest or clause[0] not in _CONTRASTS or len(rest) > _CONTRAST_WORDS_MAX:
        return False
    is_small = (rest[0] in table.SMALL and rest[0] not in _DEFINITE) or rest[0] in table.OPEN_CONTRASTS
    is_limit = not is_parallel and any(map(is_time, rest))
    return not (is_small or is_limit or any(map(is_adverb, rest)))


def _is_noun_phrase(said: Sequence[str]) -> bool:
    is_short = 1 < len(said) <= _NOUN_WORDS_MAX and said[0] in _DEFINITE
    return is_short and all(word not in table.SMALL for word in said[1:])


def _drop_lead_in(words: Sequence[Word]) -> list[Word]:
    rest = list(words)
    is_shorter = True
    while is_shorter and len(rest) > 1:
        length = _interjection(rest) or _lead_in(rest)
        is_shorter = 0 < length < len(rest)
        rest = rest[length:] if is_shorter else rest
    return rest


def _without_asides(words: list[Word]) -> list[Word]:
    """The words without a lead-in that is put between commas: "The API is, by the way, public"."""
    for at in range(1, len(words) - 1):
        length = _lead_in(words[at : at + _LEAD_IN_WORDS_MAX]) if "," in words[at - 1].tail else 0
        if 0 < length < len(words) - at and "," in words[at + length - 1].tail:
            return [*words[: at - 1], Word(words[at - 1].core), *words[at + length :]]
    return words


def _interjection(words: Sequence[Word]) -> int:
    """How many words are a label or a word about what was said before: "Fact:", "No,", "Wrong folder:"."""
    if words[0].core in table.LABELS:
        return int(words[0].is_label)
    if (words[0].core, words[1].core) in table.NO_LONGER or (
        words[0].is_label and words[0].core in _VERDICTS
    ):
        return 0  # "No longer true: ...", "False: ..."
    if words[0].core in table.INTERJECTIONS and ("," in words[0].tail or words[0].is_label):
        return 1
    end = next((at + 1 for at, word in enumerate(words[:_RETORT_WORDS_MAX]) if word.is_label), 0)
    comma = next((at + 1 for at, word in enumerate(words[:_DENIAL_WORDS_MAX]) if "," in word.tail), 0)
    said = {word.core for word in words[: end or comma]}
    if words[0].core in table.DENIALS:
        return end if 0 < end <= _DENIAL_WORDS_MAX else comma
    if (words[0].core, words[1].core) == ("forget", "it"):
        return comma
    is_retort = said <= table.RETORTS and not said.isdisjoint(_BACK) and not said.isdisjoint(_WRONG)
    return end if is_retort else 0


def _lead_in(words: Sequence[Word]) -> int:
    cores = tuple(word.core for word in words[:_LEAD_IN_WORDS_MAX])
    return next((length for length in range(len(cores), 0, -1) if cores[:length] in _LEAD_INS), 0)


_LEAD_INS = frozenset(table.LEAD_INS)
_LEAD_IN_WORDS_MAX = max(map(len, _LEAD_INS))
_RETORT_WORDS_MAX, _DENIAL_WORDS_MAX = 7, 3
_REMARK_WORDS_MAX = 2
_CONTRAST_WORDS_MAX, _NOUN_WORDS_MAX = 4, 6
# What goes on behind "Given that ...," where steps of a test are told.
_STEPS = frozenset({"when", "then", "wenn", "dann", "quand", "alors"})
_ORDER_REASONS = frozenset({"since", "car", "denn"})
_CAUSES = {("because",), ("weil",)}
_VERDICTS = table.DENIALS - {"no", "nope", "nein", "non"}
_REQUESTS = {(may, "you") for may in ("can", "could", "would", "will")} | {("kannst", "du"), ("peux", "tu")}
_COMMENTS = {("no", "wonder"), ("no", "need"), ("that's", "why"), ("thats", "why"), ("which", "explains")}
_JOINERS = frozenset({"and", "but", "und", "aber", "et", "mais", "y", "pero", "whereas"})
_JOINTS = _JOINERS | table.CONSEQUENCES | {each[0] for each in table.REASONS} | {"since"}
_OPENING = table.ADVERBS | {"so"}
_CONTRASTS = frozenset({"not", "nicht", "pas", "kein", "keine"})
_BACK, _WRONG = (
    frozenset({"you", "you're", "your", "that", "that's"}),
    table.DENIALS | {"not", "mistaken", "mistake"},
)
_NOT_YET = frozenset({"ne", "nicht"})
_POINTERS = frozenset({"it", "it's", "them", "that's", "ça"})
_DEFINITE = table.ENGLISH_ARTICLES | frozenset({"my", "our", "its"}) | table.DEFINITE_ARTICLES
_OWN_SUBJECTS = _DEFINITE | table.SPEAKERS | {"there", "all", "every", "each"}
