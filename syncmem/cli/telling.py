"""The demo's page: what was heard, the timelines before and after, and a few questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from rich.text import Text

from syncmem.cli.drawing import Palette, Row
from syncmem.cli.screen import console, glyphs_for, show_drawing
from syncmem.cli.story import CITY, CUSTOMER, DEVICES, LAST_TUESDAY, PARTING, SCENES, TODAY, Told
from syncmem.cli.words import value_text
from syncmem.results import Belief, HistoryEntry, Timeline

WIDTH: Final = 88  # fits a README as well as a terminal
DIGEST_CHARACTERS: Final = 10  # enough to see whether two are equal
ASKED: Final = f"{CUSTOMER} {CITY}"

Pieces = tuple[str | tuple[str, str], ...]


class Teller:
    """Prints a told story; one palette throughout, so a city keeps its colour."""

    def __init__(self) -> None:
        self._to = console()
        self._palette = Palette()

    def tell(self, told: Told, keep: str | None) -> None:
        """The whole page."""
        self._say((f"Where does {CUSTOMER} live?", "bold"), "  Three devices, no network, one memory.")
        self._title("On 3 March they all hold what the laptop heard; then they part")
        self._scenes(offline=False)
        self._title("Offline, each hears something else")
        self._scenes(offline=True)
        dashed = glyphs_for(self._to).contested
        self._title("Before they meet: three answers", f"  ({dashed}{dashed} contested: a later guess says otherwise)")
        self._timelines(told.before, told.digests_before)
        self._title("On 20 June they meet, each in another order")
        for device in DEVICES:
            met = [(other, new) for name, other, new in told.meetings if name == device]
            order = f"takes in what the {met[0][0]} holds, then what the {met[1][0]} holds"
            self._say(f"  {device:<7} {order:<60}", (f"{sum(new for _, new in met)} events", "dim"))
        self._title("After: one answer")
        self._timelines(told.after, told.digests_after)
        self._title(f"Asked on the tablet, on {_day(TODAY)}")
        for question, verb, answer in _questions(told):
            self._say(f"  {question:<46}", (verb, "dim"))
            for line in answer:
                self._say("    ", *line)
        self._say()
        self._closing(keep)

    def _title(self, text: str, remark: str = "") -> None:
        self._say()
        self._say((text, "bold"), (remark, "dim"))

    def _say(self, *pieces: str | tuple[str, str]) -> None:
        self._to.print(Text.assemble(*pieces), soft_wrap=True)

    def _scenes(self, *, offline: bool) -> None:
        for scene in SCENES:
            if (scene.when > PARTING) == offline:
                remark = f"  ({scene.remark})" if scene.remark else ""
                self._say(f"  {scene.device:<7} {_day(scene.when):>7}  {scene.words}", (remark, "dim"))

    def _timelines(self, timelines: Mapping[str, Timeline], digests: Mapping[str, str]) -> None:
        rows = [Row(f"  {device}", timeline.beliefs) for device, timeline in timelines.items()]
        width = min(self._to.width, WIDTH)
        show_drawing(rows, self._to, now=TODAY, zone=UTC, width=width, palette=self._palette)
        equal = len(set(digests.values())) == 1
        shown = "  ".join(f"{device} {digest[:DIGEST_CHARACTERS]}" for device, digest in digests.items())
        style, verdict = ("bold green", "all equal") if equal else ("yellow", "all different")
        self._say((f"  digests  {shown}  ", "dim"), (verdict, style))

    def _closing(self, keep: str | None) -> None:
        if keep is None:
            self._say(("Keep the three files with --keep DIR and ask them yourself.", "dim"))
        else:
            self._say(("Ask the files yourself, for example:", "dim"))
            for arguments in (f"timeline {ASKED}", f"history {ASKED}"):
                self._say(f"  syncmem --db {keep}/tablet.db {arguments}")
            self._say("or see them side by side:")
            self._say(f"  syncmem --db {keep}/tablet.db view --also {keep}/phone.db --also {keep}/laptop.db")


def _questions(told: Told) -> Iterator[tuple[str, str, list[Pieces]]]:
    """Question, the verb that asks it, and the lines of the answer."""
    winner = told.why.winner
    assert winner is not None, "the story ends with a belief"
    yield "Where does the customer live now?", "believe", [(_strong(told.now), f", since {_day(winner.valid_from)}")]
    lost = [_loser(entry, reason) for entry, reason in (*told.why.lost, *told.why.taken_back)]
    yield "Why?", "why", [((_value(winner), "bold"), f"  {_said(winner, told)}"), *lost]
    yield (
        "What did the tablet believe last Tuesday?",
        f"believe --known-at {LAST_TUESDAY}",
        [
            (_strong(told.believed_on_tuesday), ": what was believed is never rewritten"),
            (_strong(told.believed_about_tuesday), ": what it believes now about that Tuesday"),
        ],
    )
    yield "What should we ask the customer?", "contested", [_doubt(belief, told) for belief in told.contested]
    yield "What became of the note about Porto?", "history", [_fate(told)]


def _strong(belief: Belief | None) -> tuple[str, str]:
    return ("unknown" if belief is None else value_text(belief.value), "bold")


def _value(entry: HistoryEntry) -> str:
    return value_text(entry.value)


def _said(entry: HistoryEntry, told: Told) -> str:
    """The words of the scene that an event comes from, and who heard them."""
    words = next((scene.words for scene in SCENES if scene.when == entry.asserted_at), "")
    return f"{words} {_place(entry, told)}, trust {entry.trust}"


def _place(entry: HistoryEntry, told: Told) -> str:
    device = next(name for name, identity in told.ids.items() if identity == entry.device)
    return f"on the {device}, {_day(entry.asserted_at)}"


def _loser(entry: HistoryEntry, reason: str) -> Pieces:
    return ((f"not {_value(entry)}, said {_day(entry.asserted_at)}: {reason}", "dim"),)


def _doubt(belief: Belief, told: Told) -> Pieces:
    """A contested belief, and what lower trust holds against it."""
    rivals = [entry for entry, _ in told.why.lost if entry.trust < belief.trust]
    against = ", ".join(f"{_value(entry)} is a later guess (trust {entry.trust})" for entry in rivals)
    return ("whether it is still ", _strong(belief), f": {against}")


def _fate(told: Told) -> Pieces:
    entry, _ = told.why.taken_back[0]
    by = next(other for other in told.history if entry.event in other.names)
    return ((entry.status, "bold"), f" {_place(by, told)}; no timeline shows it, the history does")


def _day(when: datetime | None) -> str:
    """A day, with its year where that is not the story's."""
    if when is None:
        return "ever"
    return f"{when.day} {when:%b}" if when.year == TODAY.year else f"{when.day} {when:%b %Y}"
