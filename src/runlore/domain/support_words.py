"""The words that `support` reads evidence by: what negates, what leaves in doubt, what takes back.

English first, then the commonest words of other languages. A word that is counted where it means nothing only
costs support: what is not clearly said does not verify anything.
"""

from runlore.domain import subject_words


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS = subject_words.NEGATIONS | _set(
    "none nobody nothing nowhere neither nor cant wont shouldnt wouldnt couldnt didnt hasnt havent wasnt"
    " werent mustnt aint nope"
    " pas jamais aucun aucune rien personne nein nichts niemand nada nadie ningún ninguna ninguno"
    " non mai nessuno nessuna niente não nunca jamais nenhum nenhuma nada niet geen nooit"
    " inte ikke ingen aldrig nie nigdy żaden не нет ни никогда нельзя değil yok δεν μην όχι"
    " لا ليس لم لن לא אין नहीं मत tidak bukan jangan không chưa đừng 안 못 不是"
)
"""Each turns round what follows it, or what it follows where nothing does."""

NO_LONGER = subject_words.NO_LONGER | {("no", "more")}
NOT_ONLY = subject_words.NOT_ONLY
FRENCH_NOT = subject_words.FRENCH_NOT

UNSPACED_NEGATION = "不|没|沒|未|无|無|别|別|勿|莫|ない|なかった|ません|なく|ず|않|못|없|아니|말고|ไม่|ห้าม|อย่า"
UNSPACED_DOUBT = "如果|若|假如|也许|也許|可能|或许|或許|除非|もし|なら|たら|かも|만약|ถ้า"
UNSPACED_QUESTION = "吗|嗎|是否|ですか|ますか"
"""Inside runs of scripts that are written without spaces."""

MODALS = _set("can could may might must shall should will would ought")
CONDITIONS = subject_words.SUBORDINATORS | _set(
    "whether suppose supposing assuming provided otherwise until till before after once"
    " ob außer sauf sinon salvo excepto se quando als wanneer om если когда eğer jika kalau nếu"
)
RESERVATIONS = _set(
    "without except excluding unless instead rather only merely just sometimes some few almost nearly hardly"
    " barely seldom rarely partly partially unlikely perhaps maybe probably possibly supposedly allegedly"
    " apparently ohne sin sans sem senza zonder bez без vielleicht peut-être quizás talvez forse misschien"
)
PAST = _set("was were had did formerly previously earlier était étaient fue era waren")
HEARSAY = _set(
    "say says said tell tells told claim claims claimed think thinks thought believe believes guess assume"
    " assumes wish wishes hope hopes want wants doubt doubts imagine pretend pretends allege alleges argue"
    " argues suggest suggests suggested propose proposes proposed"
)
REVERSALS = _set(
    "false untrue wrong incorrect mistaken myth avoid avoids avoiding stop stops stopped forbid forbids"
    " forbidden prohibit prohibits prohibited refuse refuses deny denies denied fail fails failed reject"
    " rejects rejected obsolete outdated deprecated falsch faux falso"
)
DOUBTS = MODALS | CONDITIONS | RESERVATIONS | PAST | HEARSAY | REVERSALS
"""A sentence with one of these that the statement lacks does not say what the statement says."""

DOUBTFUL_LABELS = _set("question q example todo idea option hypothesis draft proposal")
LABELS = subject_words.LABELS | _set("request result task answer user assistant context background")
"""What stands before a sentence and says nothing itself."""

LEAD_INS = tuple(
    tuple(phrase.split())
    for phrase in (
        "please",
        "hi",
        "hello",
        "also",
        "for the record",
        *(
            f"{order}{that}"
            for that in ("", " that")
            for order in (
                "remember",
                "note",
                "keep in mind",
                "i want you to remember",
                "i would like you to remember",
            )
        ),
    )
)

ANAPHORS = _set("it its it's this that that's these those they their he his she her")
"""A sentence that begins so goes on with what the one before it was about."""

DENIALS = _set("no nope nah wrong false incorrect untrue nein falsch faux")
CORRECTIONS = _set("actually correction sorry oops wait")
RETRACTIONS = _set("scratch forget ignore disregard cancel undo drop strike")
"""What takes the sentence before it back: a denial apart from what follows, an order before "that"."""

QUESTION_OPENERS = _set(
    "is are was were does did can could would should shall has had am"
    " what which who whose whom how why where whether"
)
"""`do`, `have`, `will` and `may` open orders and names as well."""

ABBREVIATIONS = _set("e.g i.e etc vs mr mrs ms dr st nr ca bzw approx incl resp fig vol")
