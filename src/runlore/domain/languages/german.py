"""German."""

from runlore.domain.languages.language import Cue, Language, Opening

GERMAN = Language(
    name="de",
    marks="""
        der die das den dem ein eine und ist sind nicht ich du wir bitte mit auf für zu im in dass es wenn
        keine kein immer nie niemals mir mich auch warum kannst noch vorerst alle
    """,
    lead_ins="""
        ab jetzt, ab sofort, von nun an, in zukunft, künftig, ok, okay, ja, nein, und, dann, also, bitte
        aber, jetzt, nun, gut, danke, genau, ach, hm, noch
    """,
    tags="oder, richtig, ja, nicht wahr, stimmt's",
    contrasts="nicht, kein*, nie",
    openings={
        Opening.COMMAND: """
            achte, antworte, benenn*, benutze, denk, erstelle, formatiere, frag*, füge, gib, halte, hör
            immer, korrigiere, lass, lasst, lege, lies, mach, nenne, nie, niemals, nimm, nutze, passe, prüfe
            schreib, schreibe, setze, speichere, teste, verwende, vergiss, vermeide, zeig*, nicht
        """,
        Opening.PROHIBITION: """
            keine, nie, niemals, vermeide*, verwende/benutze/nutze/schreib*/mach*/füge/setze ~ kein*/nicht
        """,
        Opening.QUESTION: """
            warum, wieso, weshalb, was, wie, welche*, wo, wann, wer, ist, sind, hat, haben wir, kann, können
            stimmt, sollten wir, sollen wir, gibt es, läuft, laufen, erinnerst, weißt
        """,
    },
    cues={
        Cue.RULE: """
            immer, nie, niemals, ab jetzt, ab sofort, von nun an, in zukunft, künftig, zukünftig, jedes mal
            jedesmal, grundsätzlich, stets, in der regel, standardmäßig, auf keinen fall, normalerweise
        """,
        Cue.REMINDER: """
            denk daran, denke daran, denk dran, vergiss nicht, nicht vergessen, merk dir, merke dir, beachte
            erinnere dich daran, zur erinnerung
        """,
        Cue.PREFERENCE: "bevorzuge, lieber, am liebsten, ich mag, mir gefällt, mir gefallen",
        Cue.WISH: "ich möchte, ich will, ich hätte gern*, wir wollen, wir möchten",
        Cue.EVERY: "jede* _, überall, pro _, alle _, sämtliche",
        Cue.CARE: "achte darauf, stell* sicher, sorge dafür, sicherstellen, darauf achten",
        Cue.PROHIBITION: """
            keine _, keinen _, kein _, nicht _, hör auf, vermeide*, nie, niemals, nicht mehr, lass das
        """,
        Cue.REPLACEMENT: "statt, anstatt, anstelle, stattdessen, nicht ~ sondern, lieber ~ als",
        Cue.LIMIT: "nur, höchstens, maximal, mindestens, so _ wie möglich, halte ~ klein/kurz/einfach",
        Cue.PRACTICE: """
            wir benutzen, wir verwenden, wir nutzen, wir haben ~ logger, wir schreiben, wir nennen
            benutzen wir, verwenden wir, nutzen wir, bei uns, unsere konvention, in diesem projekt
            wir haben einen/eine/ein
        """,
        Cue.FACT: """
            heißt jetzt, heißt nun, heißt, umbenannt, ist schon, ist bereits, liegt in, nur lesbar
            umgezogen, wir sind auf ~ umgestiegen, gibt es schon
        """,
        Cue.OBLIGATION: "muss, müssen, soll, sollen, sollte, sollten, darf, dürfen, wir sollten, wir müssen",
        Cue.CORRECTION: """
            das stimmt nicht, ist falsch, stimmt so nicht, ich habe nicht gesagt, nicht richtig
        """,
        Cue.REASON: "weil, damit, sonst, denn",
        Cue.ORDER: "zuerst, erst, bevor du/wir/man, nach jedem, vorher",
        Cue.WORKFLOW: """
            commit, commits, committe*, branch, branches, release-branch, pr, prs, test, tests, doku*
            review*, formatter, kommentar, kommentare, änderung, änderungen, changelog, funktionen
            variablennamen, importe, schema, diagramm, ci, logger, klassen, endpunkt, deutsch, sätze
            leerzeichen, tabs, dateien, utc
        """,
        Cue.REQUEST: "bitte, kannst du, könntest du, können wir, lass uns, würdest du",
        Cue.MOMENTARY: """
            vorerst, diesmal, dieses mal, im moment, momentan, fürs erste, erst einmal, erstmal, noch nicht
            zunächst, für diesen pr/branch/commit, für heute, vorläufig
        """,
        Cue.POINTING: """
            diese* datei, diesen pr/branch/commit, das hier, diese stelle, zeile _, dritten, zweite*
        """,
        Cue.ERRAND: "denk/denke daran ~ zu, denk dran ~ zu, vergiss nicht ~ zu, erinner* mich",
        Cue.ONE_THING: """
            den/die/das erste*/zweite*/dritte*/andere*/letzte*, variante _, option _, keine sorge
        """,
        Cue.HEDGE: """
            vielleicht, ich glaube, ich denke, könnte, wohl, wahrscheinlich, möglicherweise, eventuell
        """,
        Cue.STORY: """
            war, waren, hatte, habe ich, gestern, ist ~ geworden, ist ~ abgestürzt, musste, ging
            entschuldige, probiert, lief
        """,
        Cue.CONDITION: "falls",
        Cue.PLACE: "in diesem projekt/repository/repo, in dieser codebasis, hier, bei uns",
        Cue.PERSON: "ich, wir, du, mir, mich, uns, dir, dich, mein*, unser*, dein*",
        Cue.HYPOTHESIS: "was wäre wenn, was wäre, angenommen, nehmen wir an",
    },
    weak="""
        bitte mach mache machen datei code commit push test tests branch weiter jetzt gut schau ändern
        ändere neu neue schreib schreibe erstelle füge noch einmal mal und oder der die das ein eine den dem
        nicht ich du wir es ist auf in mit zu für
    """,
)
