"""The words that `subject` reads statements by: tables with their reasons, and nothing that decides.

English first; French, German and Spanish for copulas, articles and negations; Chinese for 是. A word that
means something else in another of these languages stands here only with what tells the two apart.
"""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SYMBOL = ""
"""The language of a statement that is split at a symbol: any."""

COPULAS = dict.fromkeys(("is", "are"), "en")
COPULAS |= dict.fromkeys(("est", "sont"), "fr") | dict.fromkeys(("ist", "sind"), "de")
COPULAS |= dict.fromkeys(("es", "son"), "es") | dict.fromkeys(("是", "不是"), "zh")
"""Each with its language. `was` and `were` are left out: what was so does not contradict what is."""

EVIDENCE = {
    "es": _set("el la los las un una mi tu su nuestro nuestra del de"),
    "son": _set("los las mis tus sus nuestros nuestras"),
}
"""`es` is also German for "it", `son` also English and French: they count only next to Spanish words."""

OPERATORS = {"=": False, "==": False, "===": False, ":=": False, "!=": True, "≠": True}
"""Whether they negate. Arrows and comparisons (`=>`, `->`, `<=`) are steps and bounds, they name no value."""

ENGLISH_ARTICLES = _set("a an the")
ARTICLES = {
    "fr": _set("le la les un une"),
    "de": _set("der die das ein eine"),
    "es": _set("el la los las un una"),
}
ARTICLES[SYMBOL] = frozenset[str]().union(*ARTICLES.values())
"""Dropped at the beginning of a part only, in that language only: `LA office is` and `die size is` stay."""

PRONOUNS = _set(
    "i you he she it we they this that these those there here who what which something everything"
    " ce c'est cela ça il elle ils elles on nous vous je tu qui"
    " es das dies dieses er sie wir ihr ich hier da"
    " esto eso él ella ellos ellas nosotros yo hay"
    " 这 那 它 他 她 我 你 我们 他们 这里 那里"
)
"""Two statements about "it" are not about one thing, and "there is" names no subject at all."""

RELATIVES = _set("that which who whom whose where qui que")
QUESTIONS = _set("what which who whose how why when where whether")
SUBORDINATORS = _set(
    "if when whenever unless while because although though until"
    " si quand lorsque wenn falls sobald weil cuando"
)
PREPOSITIONS = _set(
    "in on at for with by under during within inside outside from pour dans für im bei para en"
)
LABELS = _set(
    "fact preference decision note nb fyi remember reminder important critical warning info tip hint todo"
    " update example remarque hinweis achtung nota"
)
"""What stands before a statement and is not its subject: else any two notes would contradict each other."""

LEAD_INS = tuple(
    tuple(phrase.split())
    for phrase in ("please", "remember that", "remember to", "note that", "keep in mind that")
)

OURS = _set(
    "our only current this these unser unsere unserer dieser diese dieses notre nos ce cette nuestro nuestra"
)
"""What stands before a subject of which there is one in a scope anyway."""

AUXILIARIES = _set(
    "do does did can could will would shall should must may might has have had was were is are"
)
CLAUSE_VERBS = AUXILIARIES - {"is", "are"} | {"not"}
"""What makes the text before a copula a clause of its own, so that the copula belongs to a second one."""

BREAKS = _set("and or but because so that which who if when unless while than though although since until")
"""After one of these a second statement begins, whose negation is not that of the first."""

NEGATIONS = _set("not never no nicht nie niemals nunca jamás kein keine keinen keinem keiner keines")
NO_LONGER = {("no", "longer"), ("nicht", "mehr"), ("ya", "no")}
NOT_ONLY = _set("only just merely nur solo sólo")
FRENCH_NOT = _set("pas plus jamais")
CONTRACTED = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "dont": ("do", "not"),
    "doesnt": ("does", "not"),
    "isnt": ("is", "not"),
    "arent": ("are", "not"),
    "i'm": ("i", "am"),
    "there's": ("there", "is"),
}

VERBS = _set(
    "use need require return respond listen write read log send deploy ship build test store keep save"
    " cache retry handle accept support include contain have get set default point resolve belong report"
    " depend rely target limit allow render serve host publish release rotate refresh poll sync back scale"
    " fall switch own lead maintain manage review approve merge sign hash encrypt compress format lint"
    " validate parse emit produce generate output print throw raise fail exit bind connect talk"
    " authenticate expect cost weigh hold wait cap pin track follow speak work pay bill charge run happen"
    " start begin occur meet open close end finish stop expire last take go come stay leave arrive import"
    " export load fetch push pull install monitor alert notify answer reply call trigger schedule archive"
    " delete purge drop replicate mirror proxy forward route redirect count measure"
)
"""Verbs, in their plain form, that split a statement into what does it and what it does."""

FOREIGN_VERBS = _set(
    "nutzt nutzen nehmen nimmt verwendet verwenden benutzt benutzen läuft laufen lauscht hört liefert liefern"
    " braucht brauchen dauert dauern startet starten beginnt beginnen endet speichert speichern schreibt"
    " schreiben liest sendet kostet hat haben gehört erfordert benötigt bleibt bleiben geht gehen unterstützt"
    " enthält utilise utilisons utilisent tourne tournent écoute écoutent renvoie retourne dure durent"
    " commence démarre finit expire stocke stockons écrit lit envoie coûte a ont appartient exige nécessite"
    " requiert garde gardons reste accepte supporte inclut"
)
SPEAKERS = _set("i we you wir ich on nous je")
REALLY = _set("now currently always only désormais jetzt nun")
"""What stands behind a verb and changes nothing of what it says now."""

EQUALLING = _set("equals beträgt betragen lautet lauten")
"""Verbs that say what "is" says."""

FOREIGN_BEING = _set("liegt liegen steht stehen wohnt lebt befindet befinden sitzt sitzen")
BEING = FOREIGN_BEING | _set("live lives sit sits reside resides am")
"""Verbs that say no more than being somewhere."""

OWNING = {
    form: done
    for verb, done in (("own", "owned"), ("maintain", "maintained"), ("manage", "managed"))
    for form in (verb, f"{verb}s")
}
"""What one does to a thing, with what is done to it: the thing is what such a statement is about."""

ATTRIBUTES = {
    "owned by ": "owner",
    "maintained by ": "maintainer",
    "licensed under ": "license",
    "lizenziert unter ": "license",
}
WHOLES = _set("project repo repository code codebase software")
"""What is done to a thing, as the name of who or what it is done by; the whole of a scope needs no name."""

ROLES = _set(
    "owner lead leader maintainer manager contact reviewer head boss director chair admin administrator"
    " author approver captain coordinator architect designer tester librarian treasurer cto ceo cfo"
    " license licence codename default chef cheffe leiter leiterin responsable"
)
"""What somebody is for something, and mostly alone, as the end of "X is the ..."."""

ORDERS = VERBS | _set(
    "put place name call document lint comment title address format draw sort order tag squash commit"
)
THINGS = _set(
    "tests test builds build releases release deploys logs log imports exports reports alerts caches calls"
    " reviews services hosts routes images downloads"
)
"""What an order may have behind its verb though it is a verb as well: "run tests", "build releases"."""

ORDER_PREPOSITIONS = _set("with in to as via using at from on under into before after")
WORDING = _set(
    "write answer reply respond speak document format log print render name comment store save keep put place"
    " address report"
)
STAGES = _set("staging production prod dev development test qa ci local")
TONGUES = _set(
    "english german french spanish italian dutch polish portuguese swedish danish norwegian finnish czech"
    " greek turkish russian ukrainian chinese japanese korean hindi arabic hebrew"
)
"""Orders, what the one thing that they say begins with, and those that have one answer behind "in"; what is
done to all of in turn, and what is spoken."""

CALLING = _set("heisst s'appelle")
"""Verbs that give a name."""

CHOICES = dict.fromkeys(("prefer", "prefers", "préfère", "bevorzugt", "prefiere"), "prefer")
CHOICES |= dict.fromkeys(("use", "uses"), "use")
"""One may prefer and use many things. Two such statements meet only where they name their question: by
rivals (tabs or spaces), by what is set aside ("X over Y") or, for `prefer`, by a purpose ("X for Y")."""

RIVALS = {
    word: question
    for question, words in {
        "indentation": "tab tabs space spaces",
        "shade": "dark light",
        "quoting": "single double",
        "length": "short long",
        "detail": "concise verbose detailed",
        "package manager": "npm yarn pnpm bun",
        "editor": "vim neovim emacs vscode",
    }.items()
    for word in words.split()
}
NUMBERS = _set("one two three four six eight")
SET_ASIDE = _set("over to than rather instead not")
PURPOSES = _set("for in when on with at as")
USER = _set("i user")

NO_TOPIC = _set(
    "always uses use lives live defaults default de des du et à au aux den dem und oder zu y o del"
).union(*(ARTICLES[SYMBOL], PRONOUNS, SUBORDINATORS, PREPOSITIONS, NEGATIONS, COPULAS, CHOICES))
"""Words that are no topic, beside the stop words of `analysis`."""
