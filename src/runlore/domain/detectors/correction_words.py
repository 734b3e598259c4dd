"""Which sentences correct what somebody else has done: a table of languages, and how a sentence is read.

Words alone say little: "no" may be part of "no problem", "actually" of praise, and "instead" of a plan. So a
row holds whole expressions. `firm` ones deny what was done, or set something else in its place. `tried` ones
only propose something ("try ..."): they correct where what was done had failed. `harmless` ones take a
sentence out, whatever else it holds. All are matched against one sentence, in lower case, its blanks single.
"""

from collections.abc import Mapping

from runlore.domain.lazy import dataclass


@dataclass(frozen=True, kw_only=True)
class CorrectionWords:
    """The expressions of one language, each a part of a regular expression."""

    firm: tuple[str, ...]
    tried: tuple[str, ...]
    harmless: tuple[str, ...] = ()
    polite: str = ""
    """What a question begins with that asks for something to be done."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPENING = r"^(?:[\w']{1,8}[ ,.!…]{1,3}){0,1}"
_LEAD = (
    r"^(?:(?:oh|ah|hmm?|um|uh|well|ok|okay|sorry|wait|hey|yeah|so|and|but|please|actually)[ ,.!…-]{1,3}){0,3}"
)
# Not as in `no-cache` or `no.1`.
_ENDED = r"(?= ?[,!;…–—]| ?[.:](?: |$)| - | ?$)"
_DO = (
    r"(?:use|try|run|do|make|go|put|call|write|change|switch|set|take|pass|install|add|build|test"
    r"|start|execute"
    r"|invoke|deploy|pick|choose|keep|push|pull|commit|move|replace|create|open|type|prefer|want|need|be)"
)
_ASKED_TO = (
    rf"(?:^|[,;:–—] ?|\b(?:please|just|to|should|must|let'?s|you|we|rather|then|and|but|no|not"
    rf"|actually|instead"
    rf"|better|i'd) ){_DO}\b"
)

_ENGLISH = CorrectionWords(
    firm=(
        rf"{_LEAD}(?:no|nope|nah){_ENDED}",
        rf"{_LEAD}no (?:don'?t|do not|not|that|that's|thats|this|it|it's|you|you're|i|we|the|use"
        rf"|try|run|just|please"
        r"|never|stop|instead|wrong)\b",
        rf"{_LEAD}(?:actually|rather|instead),? (?:no|not|don'?t|do not|let'?s|you should|we should"
        rf"|we need|we use"
        rf"|you need|it should|it needs|that should|i meant|i want|please|instead|just|{_DO})\b",
        rf"{_ASKED_TO}.{{0,120}}\b(?:instead|rather than)\b",
        rf"\binstead,? (?:of .{{1,80}}?,? )?(?:please )?{_DO}\b",
        r"\b(?:that|this|it|you|you're|is|are|was|'s|still|completely|totally|plain|all)(?: is"
        r"| was| are)? wrong\b",
        r"\b(?:you|used|ran|picked|chose|took|using|running|called)\b.{0,30}\bwrong\b",
        rf"{_LEAD}wrong\b",
        r"\b(?:not|isn'?t|wasn'?t) what (?:i|we|it|you|the|that|was|is)\b",
        rf"\b{_DO} .{{0,40}}\bdifferent\b",
        r"\b(?:should|must|needs? to|has to) be (?:a )?different\b",
        r"\b(?:don'?t|do not|never|stop) (?:use|using|run|running|call|calling|try|trying)\b",
        r"\bi (?:meant|said|asked for|told you)\b",
        r"\bthat(?:'s| is|s) not (?:it|right|correct|how|the)\b",
        r"\byou should(?:n'?t| not)? have\b",
    ),
    tried=(
        r"(?:^|[,;:–—-] ?|\b(?:please|just|maybe|then|and|but|no|ok|to|should|you|let'?s|instead"
        r"|rather|actually) )"
        r"try\b(?! (?:again|harder|and|the door)\b)",
        r"\bshould(?:n'?t)? (?:be|use|run|have been)\b",
        r"\b(?:that|this|it) (?:doesn'?t|does not|didn'?t|won'?t|will not) work\b",
    ),
    harmless=(
        rf"{_LEAD}no[ ,.!–—:-]{{1,3}}(?:problems?|worries|worry|thanks|thank|need|rush|hurry|doubt"
        rf"|way|idea|matter"
        r"|longer|more|big|sweat|nothing|go ahead|all good|looks?\b|(?:that'?s|that is|it'?s|it is"
        r"|we'?re|i'?m)"
        r" (?:fine|ok|okay|all|it\b|good|great|right|correct|perfect|working|done)|it works?)",
        r"\b(?:what|nothing|anything|something|everything|not|isn'?t|wasn'?t|never|if|whether|why"
        r"|where|how)\b"
        r".{0,40}\bwrong\b",
        rf"{_LEAD}no\b.{{0,24}}\b(?:this|that|it)(?:'s| is) (?:fine|ok|okay|good|great|right|correct)\b",
        r"\b(?:went|goes|go|going|gone) (?:\w{1,12} )?wrong\b",
        r"\bactually (?:works?|worked|working|looks?|pretty|quite|very|really|good|great|fine|nice"
        r"|like|liked)\b",
        rf"^instead of (?!.*\b{_DO}\b)",
    ),
    polite=(
        r"^(?:(?:no|ok|actually|please|instead)[ ,]{1,2})?(?:can|could|would|will) (?:you|we)\b"
        r"|^(?:why not|how about)\b"
    ),
)

_GERMAN = CorrectionWords(
    firm=(
        rf"{_OPENING}(?:nein|nee|nö|falsch){_ENDED}",
        r"\bstattdessen\b|\bstatt\b|\banstatt\b|\banstelle\b",
        r"\b(?:das|dies|es|du|ist|war|völlig|komplett) (?:ist |war |hast )?falsch\b"
        r"|\bfalsche[nrsm]? (?:befehl|kommando)\b",
        r"\bnicht (?:das|,? was)\b.{0,20}\b(?:ich|wir|was)\b|\bnicht,? was (?:ich|wir)\b",
        r"\b(?:nimm|nehmen|benutze?|verwende|mach|führe) .{0,40}\b(?:andere[nrsm]?|anders|lieber)\b",
        r"^eigentlich,? (?:nicht|nein|sollte|musst|brauch|nimm|benutze?|verwende|mach)",
        r"\bich meinte\b|\bnicht so\b",
    ),
    tried=(
        r"\b(?:versuche?|versuchs|probiere?|probier's|versuch's)\b(?! (?:nochmal|noch einmal|es erneut)\b)",
    ),
    harmless=(
        r"\bf(?:inde|and|inden)[tn]? .{0,40}\bstatt\b|\bkeine? (?:problem|sorge|eile|ursache)\b"
        r"|\bnicht schlimm\b|\bwas (?:ist|läuft|lief|war) .{0,20}falsch\b",
    ),
    polite=r"^(?:kannst|könntest|würdest) du\b",
)
_FRENCH = CorrectionWords(
    firm=(
        rf"{_OPENING}non{_ENDED}",
        r"\bau lieu d|\bplutôt (?:que|qu'|avec)\b|\b(?:utilise|lance|essaie|fais|mets|prends"
        r"|exécute)z? .{0,60}\bplutôt\b",
        r"\b(?:c'est|c’est|est|était) (?:faux|incorrect|erroné)|\bmauvaise? (?:commande|façon"
        r"|option)\b|\btu t'es trompé",
        r"\b(?:pas|n'est pas|n’est pas) ce (?:que|qu')",
        r"\b(?:utilise|prends|choisis|mets|essaie)z? .{0,40}\b(?:autre|différente?)\b",
        r"^en fait,? (?:non|il faut|utilise|lance|essaie|fais|c'est plutôt|tu dois)",
        r"\bn'utilise pas\b|\bje voulais dire\b",
    ),
    tried=(r"\bessa(?:ie|ye|yez|yons)\b(?! (?:encore|à nouveau|de nouveau)\b)",),
    harmless=(r"\bpas de (?:problème|souci)s?\b|\bpas grave\b|\bnon,? (?:merci|c'est (?:bon|bien|parfait))",),
    polite=r"^(?:peux-tu|pourrais-tu|pouvez-vous|tu peux)\b",
)
_SPANISH = CorrectionWords(
    firm=(
        rf"{_OPENING}no{_ENDED}",
        r"\ben (?:vez|lugar) de\b|\ben su lugar\b|\bmejor (?:usa|utiliza|prueba|ejecuta|haz)\b",
        r"\b(?:está|es|estaba) (?:mal|incorrecto|equivocado)\b|\bte equivocas\b"
        r"|\bcomando (?:equivocado|incorrecto)\b",
        r"\bno es (?:lo que|eso|así)\b",
        r"\b(?:usa|utiliza|prueba|elige|pon) .{0,40}\b(?:otr[oa]|diferente|distint[oa])\b",
        r"^(?:en realidad|de hecho),? (?:no|usa|utiliza|hay que|debes|deberías|tienes que|prueba|ejecuta)",
        r"\bno uses\b|\bquise decir\b",
    ),
    tried=(r"\b(?:prueba|intenta|prueba con|probemos)\b(?! (?:de nuevo|otra vez)\b)",),
    harmless=(
        r"\bno (?:hay )?problema\b|\bno pasa nada\b|\bno te preocupes\b|\bno importa\b"
        r"|\bno,? (?:gracias|está bien|todo bien)\b",
    ),
    polite=r"^¿? ?(?:puedes|podrías)\b",
)
_ITALIAN = CorrectionWords(
    firm=(
        rf"{_OPENING}no{_ENDED}",
        r"\binvece\b|\bal posto d|\bpiuttosto\b",
        r"\b(?:è|era) (?:sbagliato|errato|scorretto)\b|\bcomando sbagliato\b|\bhai sbagliato\b",
        r"\bnon (?:è )?(?:quello che|ciò che|così)\b",
        r"\b(?:usa|prova|scegli|metti) .{0,40}\b(?:altr[oa]|divers[oa])\b",
        r"^(?:in realtà|veramente),? (?:no|usa|devi|dovresti|bisogna|prova|esegui)",
        r"\bnon usare\b|\bintendevo\b",
    ),
    tried=(r"\b(?:prova|provare|proviamo)\b(?! (?:di nuovo|ancora)\b)",),
    harmless=(
        r"\bnessun problema\b|\bnon (?:c'è|ci sono) problem|\bnon importa\b|\bno,? (?:grazie"
        r"|va bene|tutto bene)\b",
    ),
    polite=r"^(?:puoi|potresti)\b",
)
_PORTUGUESE = CorrectionWords(
    firm=(
        rf"{_OPENING}(?:não|nao){_ENDED}",
        r"\bem vez d|\bao invés d|\bem lugar d|\bno lugar d",
        r"\b(?:está|é|estava) (?:errado|incorreto)\b|\bcomando errado\b|\bvocê errou\b",
        r"\b(?:não|nao) (?:é|era|foi) (?:o que|isso|assim)\b",
        r"\b(?:usa|use|tente|tenta|escolha) .{0,40}\b(?:outr[oa]|diferente)\b",
        r"^na verdade,? (?:não|use|usa|deve|deveria|tem que|precisa|tente|execute|rode)",
        r"\b(?:não|nao) use\b|\bquis dizer\b",
    ),
    tried=(r"\b(?:tente|tenta|experimente|experimenta)\b(?! (?:de novo|novamente)\b)",),
    harmless=(
        r"\bsem problemas?\b|\bnão (?:há|tem) problema\b|\bnão faz mal\b|\b(?:não"
        r"|nao),? (?:obrigad|está bem|tudo bem)",
    ),
    polite=r"^(?:você pode|pode|poderia|podes)\b",
)
_DUTCH = CorrectionWords(
    firm=(
        rf"{_OPENING}(?:nee|neen|fout|verkeerd){_ENDED}",
        r"\bin plaats (?:van|daarvan)\b|\b(?:gebruik|doe|probeer|draai|neem) .{0,60}\bliever\b",
        r"\b(?:is|was|dat|dit) (?:is |was )?(?:fout|verkeerd|onjuist)\b|\bverkeerde (?:commando|opdracht)\b",
        r"\bniet wat (?:ik|we|wij)\b|\bniet zo\b",
        r"\b(?:gebruik|probeer|neem|kies) .{0,40}\b(?:andere?|anders)\b",
        r"^eigenlijk,? (?:nee|niet|moet|gebruik|probeer|draai|doe)",
        r"\bgebruik geen\b|\bik bedoelde\b",
    ),
    tried=(r"\b(?:probeer|proberen)\b(?! (?:opnieuw|nog eens|het opnieuw)\b)",),
    harmless=(
        r"\bgeen (?:probleem|zorgen|haast)\b|\bmaakt niet uit\b|\bnee,? (?:bedankt|dank je|prima|is goed)\b",
    ),
    polite=r"^(?:kun|kan|zou|kunt) (?:je|jij|u)\b",
)
_RUSSIAN = CorrectionWords(
    firm=(
        rf"{_OPENING}(?:нет|неправильно|неверно|не так){_ENDED}",
        r"\bвместо\b|\bлучше (?:используй|запусти|попробуй|сделай|возьми)",
        r"\b(?:это|так|ты) (?:неправильно|неверно|не то|не так)\b|\bневерная команда\b|\bты ошиб",
        r"\bне то,? что\b|\bне это\b",
        r"\b(?:используй|возьми|попробуй|выбери)\w{0,3} .{0,40}\bдруг(?:ой|ую|ое|ие|им)\b",
        r"^(?:на самом деле|вообще-то),? (?:нет|не|нужно|надо|используй|запусти|попробуй|должно)",
        r"\bне используй\b|\bя имел[аи]? в виду\b",
    ),
    tried=(r"\b(?:попробуй|попробуйте|попробуем)\b(?! (?:ещё раз|еще раз|снова)\b)",),
    harmless=(
        r"\bнет проблем\b|\bничего страшного\b|\bне важно\b|\bнет,? (?:спасибо|всё хорошо"
        r"|все хорошо|всё в порядке)\b",
    ),
    polite=r"^(?:можешь|можете|не мог)\b",
)
_CHINESE = CorrectionWords(
    firm=(
        r"^不(?=[,，。.!！:：、 ]|$)|^不(?:对|是|要|行)|不是这样|不是我(?:要|想|说)|不要(?:用|使用"
        r"|运行)|别(?:用|运行)",
        r"(?<![没不])错了|搞错|弄错|用错|是错的|不正确",
        r"而不是|应该(?:用|使用|运行|执行|是)|改(?:用|成)|换(?:成|用|一个)|请?改为|代替",
        r"(?:其实|实际上).{0,6}(?:应该|要用|需要|得用|不)",
        r"^(?:不同的|另一个|另外一个)|(?:用|试)(?:另|其他|别的|不同)",
    ),
    tried=(r"试试|尝试(?!了)|试一下|试着",),
    harmless=(r"没(?:有)?问题|没关系|不用(?:谢|担心|客气)|没错|^不错|哪里错了|什么错了",),
)
_JAPANESE = CorrectionWords(
    firm=(
        r"^(?:いいえ|いえ|いや)(?=[、,。. ]|$)|^(?:違う|違います|ちがう|ちがいます)|(?:それ"
        r"|これ)(?:は|も)?(?:違|ちが)[いう]",
        r"(?:では|じゃ)なく|代わりに|かわりに|ではありません|じゃない(?!か)",
        r"間違(?:って|え|い(?:です|。|$))|正しく(?:ない|ありません)",
        r"(?:別|他|ほか)の.{0,20}(?:使|試|実行)",
        r"(?:実は|実際には?).{0,30}(?:使|べき|必要|して)|使わないで",
    ),
    tried=(r"試して|ためして|やってみて",),
    harmless=(r"問題(?:ない|ありません)|大丈夫|間違いない|間違いありません|何が間違|いいですね",),
)
_KOREAN = CorrectionWords(
    firm=(
        r"^(?:아니|아니요|아뇨|아니오)(?=[,. !]|$)|^틀렸|잘못(?:됐|되었|했)|(?:그게|그건) 아니",
        r"대신(?:에)? |말고 ",
        r"다른 .{0,20}(?:사용|써|쓰|시도)",
    ),
    tried=(r"해 ?보세요|시도해|해 ?봐",),
    harmless=(r"문제 ?없|괜찮|뭐가 잘못|무엇이 잘못",),
)
_POLISH = CorrectionWords(
    firm=(
        rf"{_OPENING}(?:nie|źle|błąd){_ENDED}",
        r"\bzamiast\b",
        r"\bto (?:jest )?(?:źle|błędne|niepoprawne|nie tak)\b|\bzła komenda\b|\bnie o to\b",
        r"\bużyj .{0,40}\binn(?:ego|ej|y|a|e)\b|\bnie używaj\b",
    ),
    tried=(r"\bspróbuj\b(?! (?:ponownie|jeszcze raz)\b)",),
    harmless=(r"\bnie ma (?:problemu|sprawy)\b|\bnic nie szkodzi\b|\bnie,? dzięki\b",),
)

LANGUAGES: Mapping[str, CorrectionWords] = {
    "en": _ENGLISH,
    "de": _GERMAN,
    "fr": _FRENCH,
    "es": _SPANISH,
    "it": _ITALIAN,
    "pt": _PORTUGUESE,
    "nl": _DUTCH,
    "ru": _RUSSIAN,
    "zh": _CHINESE,
    "ja": _JAPANESE,
    "ko": _KOREAN,
    "pl": _POLISH,
}
"""The languages whose corrections are known, by their codes."""

UNWANTED_BEFORE = _words(
    "not of than without avoid nicht kein keine statt anstatt de que sin senza sem niet geen van вместо без"
    " zamiast"
)
"""Directly before a command, they say that it is not the one that is wanted: "instead of", "rather than"."""

DENYING = _words("not don't dont never stop nicht nie pas non não nao niet nooit не")
"""They say it before a word that introduces a command: "don't use"."""

INTRODUCING = _words(
    "use using try run with via call do execute invoke nimm benutze verwende mit versuche utilise avec essaie"
    " lance usa utiliza con prueba ejecuta prova com tente rode gebruik met probeer используй запусти"
    " попробуй через użyj"
)
"""Directly before a program's name, they say that it is a program and no plain word."""

PLAIN_WORDS = _words(
    "make go test just task run time at set node script cat less more top find sort cut join split file where"
    " which env sh watch date mix rake tap clear say open start service poetry black click ant parallel"
    " expect tree host dig"
)
"""Names of programs that are everyday words as well."""
