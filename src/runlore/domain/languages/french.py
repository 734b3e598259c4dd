"""French."""

from runlore.domain.languages.language import Cue, Language, Opening

FRENCH = Language(
    name="fr",
    marks="""
        le la les des une et est sont pas je tu nous vous on avec pour dans que qui ne du au sur ça c'est de
        en il elle toujours jamais n'oublie plaît j'ai qu'on
    """,
    lead_ins="""
        à partir de maintenant, désormais, à l'avenir, ok, oui, non, et, puis, donc, alors, mais, aussi, bon
        bien, merci, maintenant, ici
    """,
    tags="non, hein, n'est-ce pas, d'accord",
    contrasts="pas, non, jamais",
    openings={
        Opening.COMMAND: """
            ajoute, appelle, arrête, assure-toi, change, corrige, crée, demande, donne, écris, évite, garde
            lance, lis, mets, n'*, ne, nomme, préfère, range, réponds, réponds-moi, sépare, souviens-toi
            teste, utilise, vérifie, fais, toujours, jamais
        """,
        Opening.PROHIBITION: "ne ~ pas/jamais, n'* pas/jamais, évite, arrête",
        Opening.QUESTION: """
            pourquoi, comment, quand, où, qui, quel*, est-ce, est-ce que, faut-il, qu'est-ce, peut-on, as-tu
            avons-nous, tu te souviens, y a-t-il
        """,
    },
    cues={
        Cue.RULE: """
            toujours, jamais, à partir de maintenant, dorénavant, désormais, à l'avenir, chaque fois
            par défaut, systématiquement, en général, d'habitude, dans tous les cas, la prochaine fois
        """,
        Cue.REMINDER: """
            n'oublie pas, n'oubliez pas, souviens-toi, rappelle-toi, garde en tête, note que, retiens
        """,
        Cue.PREFERENCE: "je préfère, préfère, j'aime mieux, j'aime, je n'aime pas, de préférence",
        Cue.WISH: "je veux, je voudrais, j'aimerais, on veut, nous voulons",
        Cue.EVERY: "chaque _, partout, tous les _, toutes les _, tous",
        Cue.CARE: "assure-toi, assurez-vous, veille à, fais attention, fais en sorte",
        Cue.PROHIBITION: "ne ~ pas, n'* pas, ne ~ jamais, arrête de, arrête d'*, évite, plus de, jamais",
        Cue.REPLACEMENT: "plutôt que, au lieu de, au lieu d'*, à la place, pas _",
        Cue.LIMIT: "seulement, uniquement, que des, au maximum, au plus, au moins, le plus _ possible",
        Cue.PRACTICE: """
            on utilise, nous utilisons, chez nous, notre convention, on appelle, nous avons un
            nous avons une, on a un, on ne ~ jamais, dans ce projet
        """,
        Cue.FACT: """
            s'appelle, a été renommé, renommé, est déjà, en lecture seule, se trouve dans, nous l'avons
        """,
        Cue.OBLIGATION: "doit, doivent, il faut, on doit, nous devons, devrait, devraient, ne doit ~ que",
        Cue.CORRECTION: "c'est faux, pas correct, pas vrai, je n'ai pas dit, pas exact",
        Cue.REASON: "parce que, car, sinon, pour que, afin de",
        Cue.ORDER: "d'abord, avant de, avant d'*, après chaque",
        Cue.WORKFLOW: """
            commit, commits, committer, branche, pr, test, tests, doc*, revue, formateur, commentaire*
            changement*, fonctions, variables, imports, schéma, diagramme, ci, logger, classes, route
            français, fichiers, espaces, release, correctifs, utc
        """,
        Cue.REQUEST: "s'il te plaît, s'il vous plaît, peux-tu, pourrais-tu, tu peux, stp, svp",
        Cue.MOMENTARY: """
            pour l'instant, cette fois, pour le moment, en ce moment, pas encore, provisoirement, d'ici là
            pour cette pr, pour aujourd'hui
        """,
        Cue.POINTING: """
            ce fichier, cette pr, cette branche, ce commit, cette ligne, ligne _, troisième, celui-ci
        """,
        Cue.ERRAND: "n'oublie pas de, n'oublie pas d'*, pense à, souviens-toi de, rappelle-moi",
        Cue.ONE_THING: """
            le/la premier/première/second/seconde/deuxième/dernier/dernière, l'autre, option _
            ne t'inquiète pas
        """,
        Cue.HEDGE: "peut-être, je pense, je crois, sans doute, probablement, il me semble",
        Cue.STORY: "était, étions, avait, j'ai, hier, a planté, n'a jamais, ont, désolé, j'étais",
        Cue.CONDITION: "si",
        Cue.PLACE: "dans ce projet/dépôt, dans cette base, ici, chez nous",
        Cue.PERSON: """
            je, j'*, nous, on, tu, moi, toi, me, te, mon, ma, mes, notre, nos, ton, ta, tes, réponds-moi
        """,
        Cue.HYPOTHESIS: "et si, supposons, imaginons",
    },
    weak="""
        fais fait mets mettre fichier code commit push test tests branche continue bien oui non pas de la le
        les un une des et est tu je on nous vous il pour dans sur avec que qui ne plaît te
    """,
)
