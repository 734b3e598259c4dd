"""Where what a user asks to remember belongs, and which requests that say "remember" leave nothing at all."""

import pytest

from runlore.domain.learning.extraction import Sieve
from runlore.domain.learning.remember_requests import find_remember_requests
from runlore.domain.record import EvidenceRef, Source
from runlore.domain.run import RunId
from runlore.domain.session import Binding, PersonaId, SessionId
from runlore.domain.statements.candidates import proposable, remembered_draft, scope_of
from runlore.domain.statements.finding import statements_of
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.taint import TRUSTED
from tests.domain.learning.remember_sentences import FITTED, NOBODY, SET_ASIDE

BOUND = Binding(project_ids=("atlas",), persona_id=PersonaId("kim"))
SESSION, RUN = SessionId("ses_1"), RunId("run_1")


def kept_of(request: str) -> list[tuple[str, str]]:
    """The scope and the text of all that a request leaves, asked for or overheard."""
    evidence = EvidenceRef(run_id=RUN)
    drafts = [
        remembered_draft(asked, Source(), evidence, binding=BOUND, provenance=TRUSTED)
        for asked in find_remember_requests(request)
    ]
    said = UserMessage(session_id=SESSION, run_id=RUN, event_number=1, text=request)
    sieve = Sieve(cap=8, personal=True)
    heard = proposable(statements_of([said]), sieve, leaves_reminders=True, asked=request)
    return [
        *((draft.scope.kind.value, draft.summary) for draft in drafts),
        *((scope_of(each.scope, [BOUND]).kind.value, each.text) for each in heard),
    ]


@pytest.mark.req("CAP-8", "CAP-3")
@pytest.mark.parametrize(("request_text", "whose", "words"), [*FITTED, *SET_ASIDE])
def test_the_words_of_a_request_say_whose_it_is_and_whether_it_lasts(
    request_text: str, whose: str, words: str
) -> None:
    kept = kept_of(request_text)

    assert [scope for scope, _ in kept] == ([] if whose == NOBODY else [whose])
    assert all(words in text for _, text in kept)
