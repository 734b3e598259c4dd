"""English."""

from runlore.domain.languages.language import Cue, Language, Opening

ENGLISH = Language(
    name="en",
    marks="the a an is are to of and in for it this that we you i on with not do can be as should",
    lead_ins="""
        ok, okay, yes, yeah, yep, no, nah, and, then, also, please, so, but, now, just, actually, sure, cool
        from now on, going forward, in future, in the future, next time, great, good, thanks, perfect, right
        hmm, well, oh, q, first, next, ah
    """,
    tags="right, or, yeah, no, ok, okay, correct, isn't it, aren't we, don't we, yes, huh",
    contrasts="not, never",
    openings={
        Opening.COMMAND: """
            add, always, answer, ask, avoid, call, change, check, commit, create, do, document, don't, dont
            do not, drop, ensure, fetch, file, fix, follow, format, give, go, have, include, keep, leave
            let's, lets, link, log, look, make, merge, move, name, never, open, prefer, pull, push, put
            read, rebase, reference, remember, remove, rename, reply, respond, review, run, set, show, skip
            spawn, split, start, stick, stop, store, test, treat, try, update, use, verify, write, wrap
        """,
        Opening.PROHIBITION: "don't, dont, do not, never, avoid, stop *ing, no more _",
        Opening.QUESTION: """
            what, what's, why, how, which, where, when did/do/does/is/was/will, who, is, are, does, did, was
            were, should, shouldn't, has, have we/you/i, do we/you/i/they, will, am i, any, isn't, aren't
            doesn't, didn't, couldn't, can't, would it/that/this, could it/that/this, can i/it/they
        """,
    },
    cues={
        Cue.RULE: """
            always, never, from now on, every time, everytime, whenever, going forward, from here on
            in future, in the future, for the future, at all times, by default, usually, in general
            as a rule, no matter what, by convention, next time
        """,
        Cue.REMINDER: """
            remember, keep/have/bear in mind, don't/dont forget, do not forget, note that
            for future reference, for your reference, be aware
        """,
        Cue.PREFERENCE: """
            prefer/prefers/preferred/preferably, stick to/with, rather not, i like, i don't like
            i really like, i do not like, i hate, i'd rather, i would rather, my preference, fan of
        """,
        Cue.WISH: """
            i'd like, i would like, i want, we want, i don't want, i do not want, i dont want, i need
            we'd like
        """,
        Cue.EVERY: """
            everywhere, wherever, each _, every _, one per _, all the/our/new/of _
            all tests/commits/code/prs, all files/dates/times/changes, any new _, one _ per
        """,
        Cue.CARE: "make/making sure, ensure, be sure, be careful",
        Cue.PROHIBITION: """
            don't, dont, do not, stop *ing, avoid, shouldn't, should not, should really not, mustn't
            must not, no more, not to, never
        """,
        Cue.REPLACEMENT: "instead of, rather than, in place of, not _ but, over the",
        Cue.LIMIT: """
            only, maximum, at most, no more than, no longer than, at least, as _ as possible
            keep ~ short/small, keep it short/small/simple, too long/short
        """,
        Cue.PRACTICE: """
            we use, we usually, we always, we never, we keep, we call, we're using, we are using, we have a
            our convention, the convention, source of truth, there should be, the way we, we follow
            we write
        """,
        Cue.FACT: """
            we are the, we are *ers of, we renamed, we've renamed, has been renamed, we moved, we've moved
            we switched, we've switched, we migrated, is called, is now called, are called, i switched to
            i moved to, there is already, there's already, is read-only, lives in, live in, is located in
            is deprecated
        """,
        Cue.OBLIGATION: """
            we should, should be, should have, should not, should always, should never, should only
            should stay, we need to, we have to, must, needs to, need to be, has to, have to be
        """,
        Cue.CORRECTION: """
            not correct, not true, not right, isn't correct, isn't right, isn't true, not fully true
            is/that's/it's/you're wrong, i didn't say, i did not say, i didn't ask, i did not ask
            i didn't want, not what i
        """,
        Cue.REASON: """
            because, so that, otherwise, so i can, so we can, so we don't, so it's, to save, that way
            this way
        """,
        Cue.ORDER: """
            first, before you/we/any/each/every/*ing, after each/every/any, as you go, in the meantime
            until
        """,
        Cue.WORKFLOW: """
            commit, commits, committing, committed, branch, branches, pr, prs, pull request, pull requests
            test, tests, tested, testing, review, reviews, reviewing, plan, plans, subagent, subagents
            sub-agent, sub-agents, agents, lint*, format*, changelog*, readme*, docs, documentation
            documented, comment, comments, rebase*, worktree, worktrees, tdd, claude.md, agents.md, sha
            shas, ticket, tickets, issue, issues, line break, line breaks, sentence, sentences, english
            naming, code quality, duplication, code style, logging, coverage, migration, schema, release, ci
        """,
        Cue.REQUEST: "can you/we, could you/we, please, let's, lets, would you, will you",
        Cue.MOMENTARY: """
            for now, this time, right now, for the moment, at the moment, just this once, for today
            for this pr/branch/task/change/one/commit/session, at some point, at some future point, not yet
            for the time being, temporarily, until i, never mind, nevermind, don't/dont ~ yet, do not ~ yet
        """,
        Cue.POINTING: """
            this pr/branch/commit/file/one/issue/change/test/function/feature/session/stack/line, these
            those, that one, the last/next/other/first/second/third one, this part, that file, above, line _
        """,
        Cue.ERRAND: """
            remember to, can't/cannot/cant/don't/dont remember, do not remember, i remember
            don't/dont forget to, do not forget to, remind me
        """,
        Cue.ONE_THING: """
            don't/dont/avoid _ the/this/that/it/them/these/those/my, don't/dont worry, do not worry
            do not _ the/this/that/it/them/these/those/my, prefer/like that/this/it/these/those, option _
            the first/second/third/other/last/latter/later/former
        """,
        Cue.HEDGE: """
            maybe, i think, i wonder, wondering, perhaps, i guess, not sure, unsure, might, seem, seems
            i feel, probably, hmm, possibly, i suppose, i believe
        """,
        Cue.STORY: """
            was, were, had, got, ran, tried, saw, happened, failed, crashed, i've, went, did run, yesterday
            just merged, just ran, sorry, noticed, it never
        """,
        Cue.CONDITION: "if",
        Cue.PLACE: """
            in this repo/repository/project/codebase/package/service, in the codebase
            in our code/repo/project, here
        """,
        Cue.PERSON: "i, i'm, i'd, i've, i'll, we, we're, we've, we'll, you, you're, me, my, our, us, your",
        Cue.HYPOTHESIS: "what if, assuming, suppose, imagine, let's say, for example we could, if we would",
    },
    weak="""
        add address again agent also answer another back bit branch branches cause change changes check ci
        code comment comments commit commits conflict conflicts continue create cut date description design
        discuss document done draft drop explain explore feature feedback file files find fine fix get give
        good got help idea implement improve include issue job keep know leave lets like lint list log look
        main make merge mind more much name need new one open option origin part plan point pr prs problem
        proceed pull push put question read readme ready really rebase release remote remove reply respond
        review run same see session show some start step still stuff summary sure tackle take talk task test
        tests thing think time together try two understand update use version wait want way well work write
        wrong
    """,
)
