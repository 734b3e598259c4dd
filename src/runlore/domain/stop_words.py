"""Words that say nothing about what a text is about: neither records nor queries are matched by them.

English function words, and single Han characters that work as particles and pronouns. Negated contractions
(`don't`) are stop words by their form. Changing a list changes scores: raise `ANALYSER_VERSION`.
"""

_ENGLISH = """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can cannot could did do does doing down during each either few for from further
    had has have having he hence her here hers herself him himself his how however i if in into is it its
    itself just may me might more most must my myself neither no nor not now of off on once only onto or
    other otherwise ought our ours ourselves out over own per same shall she should so some such than that
    the their theirs them themselves then there thereby therefore these they this those through thus to too
    toward towards under until up upon us very via was we were what whatever when whenever where whereas
    wherever whether which whichever while who whoever whom whose why will with within without would yet you
    your yours yourself yourselves
"""

ENGLISH = frozenset(_ENGLISH.split())
HAN = frozenset(
    "的了是在我你您他她它们們不有和与與就也都这這那个個吗嗎呢吧啊之其及或而把被让讓对對为為从從到又"
)
