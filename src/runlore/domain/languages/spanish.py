"""Spanish."""

from runlore.domain.languages.language import Cue, Language, Opening

SPANISH = Language(
    name="es",
    marks="""
        el la los las una y es son no yo tú nosotros con para en que se del al por favor lo siempre nunca de
        qué cómo está hay ese esta cada
    """,
    lead_ins="""
        a partir de ahora, en el futuro, de ahora en adelante, ok, vale, sí, no, y, luego, pues, entonces
        pero, también, ahora, bien, gracias, aquí
    """,
    tags="no, verdad, vale, cierto",
    contrasts="no, nunca",
    openings={
        Opening.COMMAND: """
            actualiza, añade, asegúrate, borra, cambia, corrige, crea, deja, ejecuta, escribe, evita, guarda
            haz, llama, mantén, mira, no _, nunca, pon, pregunta, prefiere, recuerda, respóndeme, responde
            revisa, siempre, ten, usa, utiliza, verifica
        """,
        Opening.PROHIBITION: "no _, nunca, evita, deja de",
        Opening.QUESTION: """
            por qué, cómo, cuándo, dónde, quién, cuál, qué, es verdad, puedes, podrías, deberíamos, pasan
            hay, recuerdas, y si
        """,
    },
    cues={
        Cue.RULE: """
            siempre, nunca, jamás, a partir de ahora, de ahora en adelante, en el futuro, en adelante
            cada vez, por defecto, por norma, en general, normalmente, la próxima vez
        """,
        Cue.REMINDER: "recuerda que, recuerda, ten en cuenta, no olvides, no te olvides, acuérdate",
        Cue.PREFERENCE: "prefiero, me gusta*, preferiblemente, no me gusta*",
        Cue.WISH: "quiero, quisiera, me gustaría, queremos",
        Cue.EVERY: "cada _, todos los _, todas las _, en todas partes, todos",
        Cue.CARE: "asegúrate, asegurarse, procura, ten cuidado",
        Cue.PROHIBITION: "no _, nunca, deja de, evita, jamás, no más",
        Cue.REPLACEMENT: "en lugar de, en vez de, no _",
        Cue.LIMIT: "solo, sólo, solamente, como máximo, al menos, lo más _ posible",
        Cue.PRACTICE: """
            usamos, utilizamos, aquí usamos, nuestra convención, tenemos un, tenemos una, llamamos
            en este proyecto
        """,
        Cue.FACT: """
            se llama, ahora se llama, renombramos, renombrado, ya está, solo lectura, está en, cambiamos a
        """,
        Cue.OBLIGATION: "debe, deben, hay que, tenemos que, debemos, debería, deberían",
        Cue.CORRECTION: "no es correcto, está mal, no es verdad, no dije, no es cierto",
        Cue.REASON: "porque, para que, si no, ya que",
        Cue.ORDER: "primero, antes de, después de cada",
        Cue.WORKFLOW: """
            commit, commits, rama, pr, prueba, pruebas, test, tests, doc*, revisión, formateador
            comentario*, cambio, cambios, funciones, variables, imports, esquema, diagrama, ci, logger
            clases, ruta, español, archivos, espacios, release, correcciones, utc
        """,
        Cue.REQUEST: "por favor, puedes, podrías, podemos",
        Cue.MOMENTARY: """
            por ahora, esta vez, de momento, por el momento, todavía no, no ~ todavía, aún no, no ~ aún
            provisionalmente, para esta pr
        """,
        Cue.POINTING: """
            ese archivo, este archivo, esta pr, esta rama, este commit, línea _, tercero, segunda
        """,
        Cue.ERRAND: """
            recuerda *ar/*er/*ir, no olvides *ar/*er/*ir, no te olvides de, acuérdate de, recuérdame
        """,
        Cue.ONE_THING: """
            el/la primero/primera/segundo/segunda/otro/otra/último/última, opción _, no te preocupes
        """,
        Cue.HEDGE: "quizás, quizá, creo, tal vez, puede ser, probablemente, a lo mejor",
        Cue.STORY: "estaba, estábamos, tuve, intenté, ayer, terminó, falló, se cayó, perdona, fue",
        Cue.CONDITION: "si",
        Cue.PLACE: "en este proyecto/repositorio, en esta base, aquí",
        Cue.PERSON: "yo, nosotros, tú, me, nos, te, mi, nuestro, nuestra, tu, respóndeme, *mos",
        Cue.HYPOTHESIS: "y si, supongamos, imagina",
    },
    weak="""
        haz hacer pon poner archivo código commit push prueba pruebas rama continúa bien sí no de la el los
        las un una y es tú yo que en con para por favor se lo al del
    """,
)
