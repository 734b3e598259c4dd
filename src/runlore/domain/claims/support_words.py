"""The words that `support` reads evidence by: what negates, what leaves in doubt, what takes back.

English first, then the commonest words of other languages. A word that is counted where it means nothing only
costs support: what is not clearly said does not verify anything.
"""

from runlore.domain.claims import subject_words
from runlore.domain.languages.detection import LANGUAGES
from runlore.domain.languages.language import Cue, phrases_of


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(phrase.split()) for phrase in text.split("|"))


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
UNSPACED_DOUBT = (
    "如果|若|假如|也许|也許|可能|或许|或許|除非|もし|なら|たら|かも|만약|ถ้า"
    "|确保|確保|翻译|翻譯|改成|改为|改為|改名|重命名|假设|假設|想象|测试|測試|修复|修復|てください|해주세요"
)
UNSPACED_QUESTION = "吗|嗎|是否|ですか|ますか"
"""Inside runs of scripts that are written without spaces."""

MODALS = _set("can could may might must shall should will would ought")
CONDITIONS = subject_words.SUBORDINATORS | _set(
    "whether suppose supposing assuming provided otherwise until till before after once"
    " ob außer sauf sinon salvo excepto se quando als wanneer om если когда eğer jika kalau nếu"
)
RESERVATIONS = _set(
    "or without except excluding unless instead rather only just sometimes some few almost seldom perhaps"
    " maybe soon iirc imo imho afaik afaict hoffentlich angeblich vermutlich wahrscheinlich apparemment"
    " probablement supuestamente ohne sin sans sem senza zonder bez без vielleicht peut-être quizás talvez"
    " forse misschien oder"
)
"""Beside every adverb in -ly that is not known to leave a statement one: see `ADVERBS`."""

PAST = _set("was were had did formerly previously earlier était étaient fue era waren")
HEARSAY = _set(
    "say says said saying tell tells told claim claims claimed think thinks thought believe believes guess"
    " assume assumes states stated reports reported reads writes wrote mentions according wish wishes hope"
    " hopes want wants need needs require requires doubt doubts imagine pretend pretends allege alleges argue"
    " argues suggest suggests suggested propose proposes proposed predict predicts predicted prediction"
    " forecast expect expects expected bet suspect suspects hunch theory opinion rumour rumor seem seems"
    " hear heard"
)
SAYING = HEARSAY - _set(
    "reads writes wrote reports states want wants need needs require requires expect expects expected"
    " suggest suggests propose proposes"
)
"""Hearsay that reaches back as well: "the port is 80, they say"."""

GOVERNING = (
    HEARSAY - _set("reads writes wrote reports require requires")
    | CONDITIONS - _set("until till before after once because although though weil")
    | _set(
        "or maybe perhaps hoffentlich angeblich vermutlich wahrscheinlich vielleicht apparemment peut-être"
        " quizás oder ou let lets let's imagine wollen will voudrais soll sollte"
    )
)
"""What reaches over the end of its clause: what is joined to it may be part of what is said or supposed."""

FAILURES = _set("fail fails failed")
REVERSALS = FAILURES | _set(
    "false untrue wrong incorrect mistaken myth avoid avoids avoiding stop stops stopped forbid forbids"
    " forbidden prohibit prohibits prohibited refuse refuses deny denies denied reject"
    " rejects rejected obsolete outdated deprecated falsch faux falso"
)
DOUBT_PAIRS = {("in", "case"), ("so", "that"), ("as", "long"), ("as", "soon"), ("as", "if"), ("used", "to")}
DOUBTFUL_CUES = frozenset({Cue.HEDGE, Cue.HYPOTHESIS, Cue.WISH, Cue.CARE})
"""What makes a sentence of another language doubtful: see `languages`."""

DOUBTS = MODALS | CONDITIONS | RESERVATIONS | PAST | HEARSAY | REVERSALS
"""A sentence with one of these that the statement lacks does not say what the statement says."""

DOUBTFUL_LABELS = _set("question q example todo idea option hypothesis draft proposal")
LABELS = subject_words.LABELS - _set("todo example") | _set(
    "request result answer context background error reason contexte kontext rappel übrigens"
)
"""What stands before a sentence and says nothing itself."""

LEAD_INS = tuple(
    tuple(phrase.split())
    for phrase in (
        *("please", "hi", "hello", "hey", "ok", "okay", "yes", "thanks", "also", "btw", "by the way"),
        *("for the record", "for your information", "from now on", "of course", "in fact", "in general"),
        *("to be clear", "to be precise", "as of now", "as of today", "while you are at it"),
        *(f"before {who}" for who in ("you start", "you begin", "you go on", "you continue", "i forget")),
        *(f"{who} know that" for who in ("you should", "you must", "you have to", "you need to", "good to")),
        *("since you ask", "since you asked", "once again", "as mentioned", "to answer your question"),
        *("answering your question", "the reason is that", "this is because", "that's because"),
        *("for later", "for next time", "for later reference", "for future sessions", "reminder for later"),
        *("going forward", "for your memory", "to remember", "ps"),
        *("for context", "for reference", "on a side note", "au fait", "petit rappel", "je rappelle que"),
        *("souviens-toi que", "rappelle-toi que", "chez nous", "bei uns", "beachte", "beachte bitte"),
        *("bitte beachte", "bitte beachten sie", "bitte denk daran", "veuillez noter que", "notez que"),
        *("kleiner hinweis", "wichtig", "denk daran", "vergiss nicht", "je te rappelle que"),
        *("je vous rappelle que", "ne oublie pas que", "ne oubliez pas que", "zur info", "nur zur info"),
        *(
            f"{which} {what}"
            for which in ("one", "one more", "one last", "another", "last")
            for what in ("thing", "note", "point")
        ),
        *(
            f"{short}{note}"
            for short in ("", "just ", "quick ", "a quick ", "just a ", "just a quick ")
            for note in ("fyi", "note", "heads up", "heads-up", "reminder", "reminder that")
        ),
        *("as you know", "as we know", "as agreed", "just so you know", "it turns out", "it turns out that"),
        *(
            f"{like} i {said}"
            for like in ("as", "like")
            for said in ("said", "said before", "mentioned", "mentioned before", "wrote", "told you")
        ),
        *(
            f"{order}{that}"
            for that in ("", " that", " this", " the following")
            for order in (
                *("remember", "note", "keep in mind", "don't forget", "do not forget"),
                *("i want you to remember", "i would like you to remember", "i'd like you to remember"),
            )
        ),
        *(
            f"{who} {verb}{that}"
            for who in ("i", "we", "we all", "we have", "we've", "i have", "i've", "you")
            for verb in ("know", "agreed", "decided", "found", "learned", "noticed", "confirmed", "settled")
            for that in ("", " that")
        ),
        *(
            f"{opening}{that}"
            for that in ("", " that")
            for opening in (
                *(
                    f"the {what} is"
                    for what in ("thing", "point", "problem", "issue", "catch", "fact", "truth")
                ),
                *("fact is", "i told you", "i already told you", "i said", "i already said"),
            )
        ),
        *(
            f"{who} {verb} that"
            for who in ("i", "we", "i have", "i've", "we've")
            for verb in ("checked", "verified", "measured", "saw", "seen", "can confirm")
        ),
        *(
            phrase
            for language in LANGUAGES
            for phrase in phrases_of(language.cues[Cue.REMINDER])
            if language.is_spaced and "/" not in phrase
        ),
    )
)
"""What introduces a statement, and leaves it one."""

LEAD_OUTS = _phrases("btw|by the way|anyway|right now|though|fyi")
"""What a statement may end in that says nothing of it."""

FACTIVES = _phrases(
    "given the fact that|seeing that|considering that|considering|vu que|sachant que|as|now that|given that"
    "|since|because|although|though|even though|da|weil|obwohl|comme|puisque|parce que|bien que|ya que"
    "|porque|aunque"
)
CONSEQUENCES = _set("so therefore hence thus deshalb daher also darum donc entonces")
"""What opens a clause that follows from the one before it: that one is meant as it stands."""

REASONS = _phrases("because|weil|parce que|car|porque|vu que|sachant que")
PAUSED_REASONS = _phrases("since|da|puisque|ya que|denn|although|though|as")
"""What opens a clause that is as true as what it stands beside: before it, behind it, behind a comma only."""

IRREGULAR = dict(
    pair.split("/")
    for pair in (
        *("kept/keep", "written/write", "built/build", "held/hold", "sent/send", "made/make", "taken/take"),
        *("given/give", "chosen/choos", "bought/buy", "shown/show", "found/find", "paid/pay", "led/lead"),
        *("max/maximum", "min/minimum", "db/databas", "repo/repositori", "prod/product", "dev/develop"),
        *("config/configur", "doc/document", "env/environ", "app/applic", "k8s/kubernet"),
        *("postgr/postgresql", "js/javascript", "ts/typescript"),
    )
)
"""Stems that differ from those of the same word: participles from their verbs, short forms from long ones."""

LINKS = frozenset(subject_words.COPULAS) | frozenset(subject_words.OPERATORS) | {":"}
"""What ties a value to its subject."""

ENGLISH_ARTICLES = subject_words.ENGLISH_ARTICLES
DEFINITE_ARTICLES = _set("the der die das le la les el los las unser unsere notre nos nuestro nuestra")
DETERMINERS = (
    ENGLISH_ARTICLES
    | subject_words.ARTICLES[subject_words.SYMBOL]
    | _set(
        "my our your his her its their this that these those all every each both any some many most"
        " den dem des mon ma mes notre nos unser unsere mein meine mi mis nuestro nuestra"
    )
)
OTHERS = _set("your his her their whose dein deine euer eure ihr ihre ton ta tes votre vos leur leurs su sus")
"""Whose thing it is that is not the speaker's: "their API" says nothing of ours."""

SPEAKERS = _set("i we i'm i've i'd we're we've we'd ich wir je nous")
SUBJECT_PRONOUNS = SPEAKERS | _set("you he she it they there it's they're everyone everybody yo nosotros")
FIRST_PERSON = SPEAKERS | _set("my our us mein meine unser unsere mon ma mes notre nos")
ADVERBS = _set(
    "now today here ici always never often usually normally also still already thus so currently generally"
    " actually please do not first second third finally typically commonly regularly frequently daily weekly"
    " monthly yearly recently really simply clearly certainly definitely obviously officially technically"
    " basically personally internally locally globally fully completely entirely exactly strictly mainly"
    " mostly primarily strongly automatically manually importantly additionally"
)
"""What leaves a statement one. Any other adverb may hedge: "ideally", "reportedly"."""

BEFORE_SUBJECTS = DETERMINERS | SUBJECT_PRONOUNS | NEGATIONS | _set("whole entire ganze gesamte")
PLACING = subject_words.PREPOSITIONS - _set("with under from by")
"""What begins a place or a time that stands before a statement."""

TIMES = _set(
    "minute hour day night morning evening weekday weekend week month quarter year monday tuesday wednesday"
    " thursday friday saturday sunday"
)
"""What "every" goes with where it says when."""

COORDINATORS = _set("and or but so then und oder et ou y o")
SMALL = ADVERBS | COORDINATORS | DETERMINERS | SUBJECT_PRONOUNS | DOUBTS | LINKS | PLACING
"""What no noun is."""

LISTED = DETERMINERS | COORDINATORS | subject_words.PREPOSITIONS | NEGATIONS | _set("of to")
"""What may stand between "and" and the next thing of a list."""

GOING_ON = LISTED - DETERMINERS | _set("over than")
"""What a wrapped line begins with: it goes on with the one above."""

CLAUSE_OPENERS = subject_words.RELATIVES | subject_words.QUESTIONS
OBJECT_OPENERS = (
    DETERMINERS
    | CLAUSE_OPENERS
    | subject_words.PREPOSITIONS
    | _set("me us them him it to of into onto about if how")
)
"""What stands behind the verb of an order, and seldom behind a subject."""

OBJECTS = DETERMINERS - {"that"} | _set("me us them him it")
COMMANDS = _set(
    "fix run write add create remove delete refactor explain summarize implement install rename send tell"
    " make show"
)
"""What an order has behind its verb without doubt, and the verbs that need none there: "run pytest"."""

NO_ORDERS = OBJECT_OPENERS | SUBJECT_PRONOUNS | COORDINATORS | LINKS | subject_words.AUXILIARIES
"""What no order begins with."""

DEPICTING = _set(
    "given roleplay role-play act write draft compose invent imagine suppose assume pretend simulate narrate"
    " picture consider"
)
CREATING = _set("add create build implement make design develop introduce generate scaffold")
NEW = _set("a an new another some me us")
COMPOSED = _set(
    "page pages form screen dialog modal view component menu layout dashboard widget site website app game"
    " popup banner card sidebar navbar wizard theme"
)
"""Orders for something new, and what has parts: what is told of a part is told of what is wanted."""

FICTION = _set(
    "story stories tale novel novels book poem essay film movie screenplay dream game roleplay role-play"
    " persona character proposal draft screenshot slides dialogue conversation scenario scenarios simulation"
    " sketch sample mockup mockups mock-up mock-ups wireframe wireframes prototype"
)
DEPICTED = FICTION | _set(
    "test tests case cases fixture fixtures mock mocks example examples criteria requirements requirement"
    " ticket issue bug bugs text sentence paragraph article quote title headline message error errors"
)
"""Orders for something made up, and what it may be. What is told of it is no statement about the world."""

STATING_HEADS = _set(
    "fact facts rule rules note notes setup convention conventions context background environment stack info"
    " details decision decisions preference preferences know infos contexte kontext"
    " standard standards guideline guidelines policy policies"
)
"""What a line that ends in a colon calls the statements below it."""

LIMITING = subject_words.PREPOSITIONS - {"with"} | _set(
    "since between next tomorrow tonight later starting beginning ab seit depuis desde"
)
"""What limits a statement that it stands behind to a place or a time: "on Windows", "from March on"."""

UNLIMITED = _set("any all every each")
"""What leaves a statement without a limit: "on any day"."""

POINTING = _set("this these that those above")
MAKE_IT_SO = frozenset(
    ("make", it, so) for it in ("it", "this", "that") for so in ("so", "happen", "true", "real", "work")
)
"""What asks for what was just said: it is not so yet."""

CHOOSING = _set("which choose pick select")
"""What a line begins with that offers the lines below it to choose from."""

ANAPHORS = _set("it its it's this that that's these those they their he his she her")
"""A sentence that begins so goes on with what the one before it was about."""

DENIALS = _set("no nope nah wrong false incorrect untrue nein falsch faux")
CORRECTIONS = _set("actually correction sorry oops wait")
INTERJECTIONS = (
    DENIALS
    | CORRECTIONS
    | _set("well psa ah oh hm hmm yeah yep sure non si doch ja oui sí right attention achtung careful again")
)
"""What stands before a comma or a colon, and tells of what was said before."""
RETORTS = DENIALS | _set(
    "you you're got get have had it that that's is are was not right true correct stop still again a mistake"
    " mistaken made your answer assumption guess here there all"
)
"""What tells somebody that he is wrong, before a colon: "You got it wrong:"; "This is ..." may point on."""

CHECKS = _set("confirm verify check validate double-check")
CHECKING = ANAPHORS | CHECKS | _set("agree right correct true sure tell see know ensure prove so")
"""What asks about the statement that it stands behind: "..., can you confirm?"."""

UNSURE = REVERSALS | _set(
    "sure certain unsure remember recall confused mixing kidding joking lying lied forgot may might changed"
    " removed dropped replaced"
)
"""What the speaker says of his own statement behind it: "..., I am not sure"."""

OPEN_CONTRASTS = _set(
    "yet anymore any really quite sure true so always ever even all every each most many some both"
)
"""What stands behind "not" and denies or limits the whole statement."""

TEXT_WORK = DEPICTING | _set(
    "translate rewrite rephrase reword proofread correct improve summarize summarise shorten quote print put"
    " insert replace type send post paste copy"
)
"""Orders that work on a text, which may stand in brackets."""

RETRACTIONS = _set("scratch forget ignore disregard cancel undo drop strike")
"""What takes the sentence before it back: a denial apart from what follows, an order before "that"."""

EXAMPLES = {
    ("for", "example"),
    ("for", "instance"),
    ("zum", "beispiel"),
    ("par", "exemple"),
    ("por", "ejemplo"),
}
"""What a sentence begins with that is no more than an example."""

AGREEMENT = _set("agree right correct true sure so okay ok")
"""What a short question asks about the sentence before it: "Do you agree?"."""

TAGS = SUBJECT_PRONOUNS | NEGATIONS | subject_words.AUXILIARIES | AGREEMENT
"""What is asked behind a statement and a comma: "isn't it", "right"."""

QUESTION_OPENERS = _set(
    "is are was were does did can could would should shall has had am"
    " what which who whose whom how why where whether"
)
"""`do`, `have`, `will` and `may` open orders and names as well."""

SLIPS = {
    f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}": word
    for word in ("the", "and", "because", "that", "which", "with", "our")
    for at in range(len(word) - 1)
}
"""Small words with two letters exchanged."""

ABBREVIATIONS = _set("e.g i.e etc vs mr mrs ms dr st nr ca bzw approx incl resp fig vol")
