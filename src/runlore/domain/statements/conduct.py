"""Whether words are a rule of conduct: how to go about any work, and not what is so or is to be done once.

Such a rule is needed in prompts that do not speak of it: a confirmation offers to let it stand in each.
"""

import re

from runlore.domain.record import STANDING_KINDS, Kind
from runlore.domain.statements.features import SentenceFeatures
from runlore.domain.statements.sentences import sentence_of

# What asks for something, and is a rule where it asks for a way of working.
_ASKING = frozenset({"command", "preference", "obligation", "practice"})
_DOUBTS = frozenset({"told", "hedge", "story", "errand", "pointing", "reminder"})
# What a reader of transcripts writes of the user is what the user says.
_SPEAKER = re.compile(r"^(?:the )?user (?=(?:want|prefer|expect|like|need|hate)s\b)(\w+)s", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"^(?:(?:our|my|the|team|house) )?(?:rule|convention|policy): *|^(?:only|nur) (?=[a-z]+e?n? )",
    re.IGNORECASE,
)
# "When you edit a table, ..." says when to do what follows it: both are read without it.
_OCCASION = re.compile(
    r"^(?:when(?:ever)?|before|after|if) (?:you|we|i|in doubt|unsure|possible|something|anything"
    r"|an?|\w+ing)\b[^,]*,\s*|^(?:wenn|bevor|sobald) (?:du|wir|ich|etwas)\b[^,]*,\s*|^(?:quand"
    r"|avant de|si) (?:tu|on"
    r"|vous)\b[^,]*,\s*",
    re.IGNORECASE,
)
# An occasion that comes again: "Check ... before writing ...".
_BEFORE = re.compile(r"\b(?:before|whenever|unless|without) (?:\w+ing|you|we)\b", re.IGNORECASE)
_TIME = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|spring|summer|autumn|winter|q[1-4]|the end of (?!each"
    r"|every|an?\b)|next|\d{4}"
)
# What asks for something beside the words that `languages` has.
_IMPERATIVE = re.compile(
    r"^(?:please )?(?:let me|achieve|address|adopt|apply|cite|confirm|define|explain|favou?r|focus"
    r"|group|handle"
    r"|limit|list|maintain|mark|mention|minimi[sz]e|mock|number|organi[sz]e|phrase|propose|provide"
    r"|quote|report"
    r"|require|reuse|sanitize|say|separate|sign|sort|speak|specify|spell|squash|state|structure|summari[sz]e"
    r"|talk|tell|think|validate|wait|warn|work)\b",
    re.IGNORECASE,
)
# What holds for a while, or for one thing, is no rule.
_BOUNDED = re.compile(
    r"\b(?:until|till|bis|jusqu|right now|just once|running now|today|tonight|tomorrow|heute|aujourd'hui)\b"
    r"|\b(?:for|in|on|with) (?:this|that|these)\b|\b(?:für|in|bei) dies|\bpour (?:ce|cette)\b"
    rf"|\b(?:by|in|on|before|from|since|at) (?:{_TIME})\b|\bnext (?:week|month|year|sprint|quarter)\b"
    r"|\bbefore (?:the|our) (?!commit|merge|push|pull|review|tests?|code)\w+(?: \w+)?\W*$",
    re.IGNORECASE,
)
# Whom somebody else has told: "She said you should ...".
_REPORTED = re.compile(
    r"^(?:\w+ ){1,3}(?:said|says|told|thinks|claims|meint|sagt|dit|pense)\b", re.IGNORECASE
)
# A deed that is done when it is done, if it is not asked for in all cases.
_DEED = re.compile(
    r"^(?:please )?(?:add|rename|fix|create|move|build|update|open|send|remove|delete|restart|install|deploy"
    r"|implement|refactor|make (?:the|a)|change the|set the|put the|check (?:the|why|whether)"
    r"|remember that)\b",
    re.IGNORECASE,
)
# What others like, and what one thing has to be.
_OF_OTHERS = re.compile(r"\b(?:prefers|favou?rs|likes)\b|^the [\w-]+ (?:must|should|has to)\b", re.IGNORECASE)
# What is said to whoever does the work, and what only an answer can be like.
_TO_AGENT = re.compile(
    r"^you (?:should|must|have to|are to)\b|^it(?:'s| is) important(?: to me)? that\b"
    r"|^be [a-z]+(?: (?:and|but) [a-z]+)?(?:[.!:,]|$)"
    r"|^(?:i want|i expect|i need|i'd like|i would like) (?:you )?to\b.*\b(?:every|each|all"
    r"|always|whenever)\b|^(?:call me|duze|sieze|tutoie|i (?:hate|like|love|don't like) it when you)\b"
    r"|^(?:sag|zeig|frag|gib) (?:mir|mich)\b.*\b(?:immer|ehrlich|wenn|bevor|erst|vorher)\b",
    re.IGNORECASE,
)
# What the work of an agent is made of, and how it speaks: what is asked of these is asked of most work.
_WORK = re.compile(
    r"\b(?:(?:answer|reply|replies|respon[ds]|expla[in]|messag|sentence|paragraph|bullet|heading|emoji|summar"
    r"|wording|spelling|english|german|french|spanish|commit|merg|pull request|review|diffs?\b"
    r"|plans?\b|tests?\b"
    r"|testing|code|coding|function|method|class(?:es)?\b|module|variable|names?\b|naming|types?\b|typing"
    r"|comment|docs?\b|docstring|document|changelog|dependenc|librar|import|lint|format|indent"
    r"|tabs\b|spaces\b"
    r"|errors?\b|exception|warning|logs?\b|logging|secret|repositor|branch|dates?\b|times?\b|timezone|utc\b"
    r"|units?\b|currenc|amounts?\b|numbers?\b|decimal|links?\b|sources?\b|style|abbreviation|approv"
    r"|permission"
    r"|guess|assum|question|lists?\b|tables?\b|prose|tone\b|files?\b|diagrams?\b|texts?\b|prices?\b"
    r"|comma\b|capital|case\b|changes?\b|commands?\b|options?\b|user\b"
    r"|antwort|kommentar|nachricht|zusammenfass|einleitung|abhängigkeit|betrag|beträge|einheit|datum"
    r"|datei|deutsch|englisch|französisch|frag|fehler|variablen|funktion"
    r"|répon|commentaire|français|anglais|allemand|dépendance|fonction|fichier|unité|erreur"
    r"|respuesta|comentario|español|inglés|dependencia|función|archivo|prueba)\w*|prs?\b)",
    re.IGNORECASE,
)
# How all of a kind are: "Dates are written as ...". One that has an article is one thing.
_HABIT = re.compile(
    r"^(?i:all )?(?!(?i:this|always|us)\b)[A-Za-z-]+s (?:(?:in (?:the |our )?|of (?:all )?)\w+ )?"
    r"(?:(?:always|never|only) )?(?:are|go|get|say|start|begin|end|need|stay|have to|must|should)\b"
    r"|^(?i:we (?:don't|do not|never|always)|anything|whatever) "
    r"|^(?i:our) (?:\w+ )?(?:style|convention|rule|standard|policy)s? (?:is|are)\b"
    # Of nouns, which begin with a capital in German.
    r"|^[A-ZÄÖÜ]\w+ (?:im \w+ )?(?:schreiben|nennen|machen|halten) wir\b|^[A-ZÄÖÜ]\w+ (?:werden"
    r"|müssen|sind)\b"
    r"|^(?i:first|erst|zuerst|d'abord)\b.*\b(?:then|dann|ensuite|puis)\b"
)
# What is wished for always, and not once.
_WISH = re.compile(
    r"^(?:i|we|ich|je|nous|wir)(?:'d| would)? (?:don't |do not )?(?:want|expect|need|like|möchte"
    r"|will|wollen|erwarte"
    r"|veux|voudrais|hate|rather)\b(?=.*\b(?:every|each|all|any|anything|always|never|whenever|when"
    r"|without|no"
    r"|don't|short|brief|concise|plain|simple|before|than|over|so|first|kurze?|knapp\w*|ohne"
    r"|keine?n?|immer|sans|pas"
    r"|courtes?|toujours)\b)",
    re.IGNORECASE,
)
# What is said of all things of a kind.
_OF_ALL = re.compile(
    r"^(?:every|each|all|no)\b.*?\b(?:needs?|requires?|gets?|must|should|(?:is|are) (?:\w+ed"
    r"|written|kept|shown))\b"
    r"|^(?!the |this |that |my |our |it |he |she |they )\w+s (?:\w+ )?should\b"
    r"|^only \w+ (?:with|when|after|if|in|to|from|what)\b"
    r"|\b(?:agreed|decided|rule|style|policy)\b.*?\b(?:nobody|everybody|everyone|no|all|every|each)\b",
    re.IGNORECASE,
)


def may_stand(kind: Kind, text: str) -> bool:
    """Whether a confirmation offers to have it in every prompt."""
    return kind in STANDING_KINDS and is_rule_of_conduct(text)


def is_rule_of_conduct(text: str) -> bool:
    whole = _SPEAKER.sub(r"I \1", text.strip())
    said = _OCCASION.sub("", _LEAD_IN.sub("", whole))
    seen = SentenceFeatures(sentence_of(said))
    is_asked = "command" in seen.features or _IMPERATIVE.search(said) is not None
    is_for_all_cases = is_asked and bool({"rule", "every"} & seen.features or _BEFORE.search(said))
    is_of_one_thing = seen.is_of_one_thing and said == whole and not is_for_all_cases
    if seen.passed_over or is_of_one_thing or _BOUNDED.search(said) or _REPORTED.search(said):
        return False
    is_of_work, of_all = _WORK.search(said) is not None, _OF_ALL.search(whole)
    if is_of_work and "story" not in seen.features and (_HABIT.search(said) or _WISH.search(said)):
        return True
    doubts = seen.features & _DOUBTS - ({"pointing", "reminder"} if is_for_all_cases else set())
    if doubts and not (of_all and "hedge" not in doubts):
        return False
    is_requested_always = seen.is_request and (said != whole or "every" in seen.features)
    is_general = is_for_all_cases or is_requested_always or "rule" in seen.features or seen.forbids
    if is_general or of_all or _TO_AGENT.search(said):
        return True
    is_deed = _DEED.search(said) or _OF_OTHERS.search(said)
    return not is_deed and is_of_work and (is_asked or not seen.features.isdisjoint(_ASKING))
