"""The pages that take the user's word: questions with their answers, and corrections of one slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from syncmem.errors import InvalidInput, NotFound
from syncmem.model.value import NONE
from syncmem.replica.catalog import VAULT
from syncmem.view.pages import to
from syncmem.view.viewer import Form, gone

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from syncmem.judging.questions import Question
    from syncmem.view.viewer import Viewer

QUESTIONS: Final = 20  # on the page: the most valuable ones
_USER: Final[dict[str, Any]] = {"source": "user", "trust": "user"}


def questions(viewer: Viewer, request: Request) -> Response:
    """What only the user can say, with a button for each answer."""
    found = viewer.memory.questions(limit=QUESTIONS + 1)
    said = request.query_params.get("said")
    return viewer.page("questions.html", questions=found[:QUESTIONS], more=len(found) > QUESTIONS, said=said)


def answer(viewer: Viewer, form: Form) -> Response:
    """Record an answer: one of the options by its number, a word, or a value of the user's own."""
    asked = _open(viewer, form["question"])
    receipts = viewer.memory.answer(asked, _answer(asked, form))
    return gone(to("/questions", said=receipts[0].event if receipts else None))


def _open(viewer: Viewer, id: str) -> Question:
    for limit in (QUESTIONS, None):  # most likely it is one of those that were shown
        for each in viewer.memory.questions(limit=limit):
            if each.id == id:
                return each
    raise NotFound("that question is no longer open: it was answered, or more was said; go back to the questions")


def _answer(asked: Question, form: Form) -> Any:
    from syncmem.judging.questions import Answer

    given = form["answer"]
    if given == "other":
        value = form.get("value")
        if value is None:
            raise InvalidInput("an answer of your own needs a value; go back and write it")
        return value
    kind, _, number = given.partition("-")
    choices: tuple[Any, ...] = asked.proposals if asked.kind == "name" else tuple(o.value for o in asked.options)
    if kind == "option" and number.isdigit() and int(number) < len(choices):
        return choices[int(number)]
    try:
        return Answer(given)
    except ValueError as error:
        raise InvalidInput(f"{given!r} is no answer to it; go back and choose one") from error


# -- one slot ----------------------------------------------------------------------------------------------


def say(viewer: Viewer, form: Form) -> Response:
    """What the user says about a slot: that a value holds, that none does, or that one no longer does."""
    entity, predicate, scope = form["entity"], form["predicate"], form.get("scope") or VAULT
    since, value = form.get("since"), form.get("value")
    about: dict[str, Any] = {"scope": scope, **_USER}
    said = form["say"]
    if said == "none":
        receipt = viewer.memory.remember(entity, predicate, NONE, since=since, affirm=False, **about)
    elif value is None:
        raise InvalidInput("a value is needed; go back and write it")
    elif said == "holds":
        receipt = viewer.memory.remember(entity, predicate, value, since=since, affirm=False, **about)
    elif said == "changed" and since is not None:
        receipt = viewer.memory.remember(entity, predicate, value, changed_on=since, **about)
    elif said == "changed":
        raise InvalidInput("a change needs its date; go back and write since when")
    else:
        raise InvalidInput(f"{said!r} cannot be said here; go back and choose")
    return gone(_slot(entity, predicate, scope, receipt.event))


def retract(viewer: Viewer, form: Form) -> Response:
    """One statement is a mistake; undoing that gives it back."""
    receipt = viewer.memory.retract(form["event"], reason="retracted on the pages of syncmem view", **_USER)
    return gone(_slot(form["entity"], form["predicate"], form.get("scope") or VAULT, receipt.event))


def undo(viewer: Viewer, form: Form) -> Response:
    """Take one event back, such as what was just written here."""
    receipt = viewer.memory.undo(form["event"], **_USER)
    return gone(_slot(form["entity"], form["predicate"], form.get("scope") or VAULT, receipt.event))


def _slot(entity: str, predicate: str, scope: str, said: str) -> str:
    return to("/slot", entity=entity, predicate=predicate, scope=None if scope == VAULT else scope, said=said)
