"""The demo's page: what was heard, the timelines before and after, and a few questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from rich.text import Text

from syncmem.cli.drawing import Palette, Row
from syncmem.cli.screen import console, show_drawing
from syncmem.cli.story import CITY, CUSTOMER, DEVICES, LAST_TUESDAY, PARTING, SCENES, TODAY, Told
from syncmem.cli.words import value_text
from syncmem.results import Belief, HistoryEntry, Timeline

WIDTH: Final = 88  # fits a README as well as a terminal
DIGEST_CHARACTERS: Final = 12  # enough to see whether two are equal
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
        self._scenes(told, offline=False)
        self._title("Offline, each hears something else")
        self._scenes(told, offline=True)
        self._title("Before they meet: three devices, three answers")
        self._timelines(told.before, told.digests_before)
        self._title("On 20 June they meet, each in another order")
        for device in DEVICES:
            met = [(other, new) for name, other, new in told.meetings if name == device]
            order = ", then ".join(f"the {other}" for other, _ in met)
            self._say(f"  {device:<7} takes in {order}", (f"   {sum(new for _, new in met)} events", "dim"))
        self._title("After: one answer")
        self._timelines(told.after, told.digests_after)
        self._title(f"Asked on the tablet, on {_day(TODAY)}")
        for question, command, answer in _questions(told):
            self._say(f"  {question:<47}", (f"  {command}", "dim"))
            for line in answer:
                self._say("    ", *line)
        self._say()
        self._closing(keep)

    def _title(self, text: str) -> None:
        self._say()
        self._say((text, "bold"))

    def _say(self, *pieces: str | tuple[str, str]) -> None:
        self._to.print(Text.assemble(*pieces), soft_wrap=True)

    def _scenes(self, told: Told, *, offline: bool) -> None:
        for scene, decision in zip(SCENES, told.decisions, strict=True):
            if (scene.when > PARTING) == offline:
                remark = f"  ({scene.remark})" if scene.remark else ""
                self._say(f"  {scene.device:<7} {_day(scene.when):>7}  {scene.words}", (remark, "dim"))

    def _timelines(self, timelines: Mapping[str, Timeline], digests: Mapping[str, str]) -> None:
        rows = [Row(f"  {device}", timeline.beliefs) for device, timeline in timelines.items()]
        width = min(self._to.width, WIDTH)
        show_drawing(rows, self._to, now=TODAY, zone=UTC, width=width, palette=self._palette)
        equal = len(set(digests.values())) == 1
        between = " = " if equal else " ≠ "
        shown = between.join(f"{device} {digest[:DIGEST_CHARACTERS]}" for device, digest in digests.items())
        self._say((f"  digests  {shown}", "green" if equal else "yellow"))

    def _closing(self, keep: str | None) -> None:
        if keep is None:
            self._say(("Keep the three files with --keep DIR and ask them yourself.", "dim"))
        else:
            self._say(("Ask the files yourself, for example:", "dim"))
            for arguments in (f"timeline {ASKED}", f"history {ASKED}"):
                self._say(f"  syncmem --db {keep}/tablet.db {arguments}")


def _questions(told: Told) -> Iterator[tuple[str, str, list[Pieces]]]:
    """Question, the command that asks it, and the lines of the answer."""
    winner = told.why.winner
    assert winner is not None, "the story ends with a belief"
    device = {identity: name for name, identity in told.ids.items()}
    yield (
        "Where does the customer live now?",
        f"believe {ASKED}",
        [(_strong(told.now), f", since {_day(winner.valid_from)}")],
    )
    said = f", said on {_day(winner.asserted_at)} to the {device[winner.device]}, trust {winner.trust}"
    lost = [_loser(entry, reason) for entry, reason in (*told.why.lost, *told.why.taken_back)]
    yield "Why Lisbon?", f"why {ASKED}", [((_name(winner), "bold"), said), *lost]
    yield (
        f"What did the tablet believe last Tuesday ({_day(LAST_TUESDAY)})?",
        f"believe {ASKED} --known-at 2025-06-17T23:00Z",
        [
            (_strong(told.believed_on_tuesday), ", and that answer stays"),
            ("About the same day it says now: ", _strong(told.believed_about_tuesday)),
        ],
    )
    yield "What should we ask the customer?", "contested", [_doubt(belief, told) for belief in told.contested]
    yield "What became of the note about Porto?", f"history {ASKED}", [_fate(told, device)]


def _strong(belief: Belief | None) -> tuple[str, str]:
    return ("unknown" if belief is None else value_text(belief.value), "bold")


def _name(entry: HistoryEntry) -> str:
    return value_text(entry.value)


def _loser(entry: HistoryEntry, reason: str) -> Pieces:
    said = f" (said {_day(entry.asserted_at)})"
    return (f"not {_name(entry)}{said}: {reason}",)


def _doubt(belief: Belief, told: Told) -> Pieces:
    """A contested belief, and the lower trust that it was held against."""
    rivals = [entry for entry, _ in told.why.lost if entry.trust < belief.trust]
    against = ", ".join(f"{_name(entry)} is a guess (trust {entry.trust}) made later" for entry in rivals)
    return ("Is it still ", _strong(belief), f"? {against}")


def _fate(told: Told, device: Mapping[str, str]) -> Pieces:
    entry, _ = told.why.taken_back[0]
    by = next(other for other in told.history if entry.event in other.names)
    when = f"on {_day(by.asserted_at)} on the {device[by.device]}"
    return ((entry.status, "bold"), f" {when}: in no timeline any more, and still in the history")


def _day(when: datetime | None) -> str:
    """A day of the story's year, else with its year."""
    return "ever" if when is None else f"{when.day} {when:%b}" if when.year == TODAY.year else f"{when.day} {when:%b %Y}"
