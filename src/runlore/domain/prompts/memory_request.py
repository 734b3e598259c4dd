"""Does an input ask for memory explicitly? A table of phrases, and no single word.

`memory`, `learning` or `recall` alone say nothing: a question about RAM, machine learning or a product recall
is none about us. A phrase has to name the remembering *and* who is to remember, or our own words for it.
"""

import re
import unicodedata
from functools import cache

# Folded: lower case, no accents, straight apostrophes. `*` stands for up to three words in between.
PHRASES: dict[str, tuple[str, ...]] = {
    "en": (
        "what do you remember",
        "what * you remember about",
        "what can you remember",
        "do you remember what",
        "do you remember when we",
        "do you remember my",
        "do you remember our",
        "do you still remember",
        "what do you know about me",
        "what have you learned about",
        "what have you learned from",
        "what did you learn from",
        "what have we learned so far",
        "what did we learn",
        "use durable memory",
        "use your durable memory",
        "use your memory",
        "use your memories",
        "use the learned context",
        "from your memory",
        "check your memory",
        "search your memory",
        "look in your memory",
        "consult your memory",
        "recall what you know about",
        "recall what you learned",
        "recall what we",
        "recall our",
        "remind me what we",
        "remind me what you",
        "durable memory",
        "durable learning",
        "durable learnings",
        "learned context",
        "recovered memory",
    ),
    "fr": (
        "que te souviens-tu",
        "qu'est-ce que tu te souviens",
        "de quoi te souviens-tu",
        "de quoi tu te souviens",
        "de quoi vous souvenez-vous",
        "te souviens-tu de ce",
        "te souviens-tu de nos",
        "te souviens-tu de mes",
        "tu te souviens de ce",
        "tu te rappelles ce",
        "rappelle-moi ce que nous",
        "rappelle-moi ce que tu",
        "qu'as-tu appris sur",
        "qu'as-tu retenu",
        "qu'as-tu memorise",
        "utilise ta memoire",
        "utilise la memoire durable",
        "consulte ta memoire",
        "memoire durable",
    ),
    "de": (
        "was weisst du noch",
        "was weisst du uber mich",
        "woran erinnerst du dich",
        "an was erinnerst du dich",
        "erinnerst du dich an unser",
        "erinnerst du dich an unsere",
        "erinnerst du dich an mein",
        "erinnerst du dich an meine",
        "erinnerst du dich noch",
        "was hast du dir gemerkt",
        "was hast du gelernt",
        "was haben wir gelernt",
        "nutze dein gedachtnis",
        "benutze dein gedachtnis",
        "verwende dein gedachtnis",
        "dauerhaftes gedachtnis",
        "dauerhaften gedachtnis",
    ),
    "es": (
        "que recuerdas",
        "de que te acuerdas",
        "te acuerdas de lo que",
        "te acuerdas de nuestr*",
        "que sabes de mi",
        "que has aprendido sobre",
        "que has memorizado",
        "usa tu memoria",
        "consulta tu memoria",
        "memoria duradera",
    ),
    "it": (
        "cosa ricordi",
        "che cosa ricordi",
        "cosa ti ricordi",
        "ti ricordi cosa",
        "usa la tua memoria",
        "memoria durevole",
    ),
    "pt": (
        "o que voce lembra",
        "do que voce se lembra",
        "o que voce se lembra",
        "voce se lembra do que",
        "use sua memoria",
        "use a sua memoria",
        "memoria duravel",
    ),
    "nl": (
        "wat weet je nog",
        "wat herinner je je",
        "herinner je je wat",
        "gebruik je geheugen",
    ),
    "zh": ("你还记得", "你記得", "你记得什么", "你记得我", "使用持久记忆", "使用你的记忆", "你學到了什麼"),
    "ja": ("何を覚えて", "覚えていますか", "記憶を使って", "何を学びましたか"),
    "ko": ("무엇을 기억", "기억하고 있", "기억을 사용"),
    "ru": (
        "что ты помнишь",
        "что вы помните",
        "помнишь ли ты",
        "используй свою память",
        "используй память",
    ),
}

# Only the ends of a very long input are read: nobody asks in the middle of a file.
_READ_CHARS = 4_000
_UNSPACED = frozenset({"zh", "ja", "ko"})


def asks_for_memory(text: str) -> bool:
    """Whether an input asks for what is remembered.

    >>> asks_for_memory("What do you remember about the deploy?"), asks_for_memory("Was weißt du noch?")
    (True, True)
    >>> asks_for_memory("How much memory does machine learning need?"), asks_for_memory("Recall is 0.8")
    (False, False)
    """
    if len(text) > 2 * _READ_CHARS:
        text = f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"
    return _phrases().search(_fold(text)) is not None


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("\u2019", "'"))
    kept = "".join(character for character in decomposed if not unicodedata.combining(character))
    return unicodedata.normalize("NFC", kept)


def _pattern(language: str, phrase: str) -> str:
    words = [_word(word) for word in _fold(phrase).split()]
    joined = r"\s+".join(words).replace(rf"\s+{_ANY}\s+", r"\s+(?:\S+\s+){0,3}")
    return joined if language in _UNSPACED else rf"(?<!\w){joined}(?!\w)"


def _word(word: str) -> str:
    if word == "*":
        return _ANY
    return re.escape(word).replace(r"\*", r"\w*")


_ANY = "\0"


@cache
def _phrases() -> re.Pattern[str]:
    pairs = ((language, phrase) for language, phrases in PHRASES.items() for phrase in phrases)
    return re.compile("|".join(_pattern(*each) for each in pairs))
