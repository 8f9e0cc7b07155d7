"""The six commands of the tool, told in the verbs of a memory; the replies and errors are the documented ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from syncmem.arguments import guarded
from syncmem.errors import SyncmemError
from syncmem.integrations.anthropic_memory.paths import (
    BELIEFS,
    ROOT,
    Refused,
    file_name,
    inside_of,
    is_belief,
    is_in,
    numbered,
    occurrences,
    place_of,
    shown_file,
    shown_folder,
)
from syncmem.memory import Memory
from syncmem.model.value import TEXT_BYTES_MAX
from syncmem.replica.catalog import VAULT
from syncmem.results import Source
from syncmem.statements import trust_of

PREDICATE: Final = "memory_file"
BELIEFS_LISTED_MAX: Final = 50
SNIPPET_LINES: Final = 2  # shown before and after what was replaced


class MemoryFiles:
    """The tool's six commands over one open memory.

    Args:
        trust: how much what is written counts.
        agent: names the model's host in the sources of what it writes.
        mentions: entities, such as the user, with whose erasure the files go.
        scope: who shares the files.
        beliefs: whether what is believed can be read beside the files.
    """

    @guarded
    def __init__(
        self,
        memory: Memory,
        *,
        trust: int | str = "inference",
        agent: str = "anthropic",
        mentions: Iterable[str] = (),
        scope: str = VAULT,
        beliefs: bool = True,
    ) -> None:
        self._memory = memory
        self._trust = trust_of(trust)
        self._said: dict[str, Any] = {"trust": self._trust, "source": Source("model", agent), "scope": scope}
        self._mentions = tuple(mentions)
        self._scope = scope
        self._beliefs = beliefs

    def handle(self, command: Mapping[str, Any]) -> str:
        """The reply to a command, as the model sent it; an error is a reply as well."""
        try:
            return self.answer(command)
        except Refused as refused:
            return str(refused)

    def answer(self, command: Mapping[str, Any]) -> str:
        """The reply to a command.

        Raises:
            Refused: with the documented error; nothing was written.
        """
        if not isinstance(command, Mapping):
            raise Refused(f"Error: A command is a mapping, not {type(command).__name__}; pass the tool's input")
        name, given = command.get("command"), {key: part for key, part in command.items() if key != "command"}
        if not isinstance(name, str) or name not in COMMANDS:
            raise Refused(f"Error: Unknown command: {name}; use {', '.join(COMMANDS)}")
        if given.get("view_range", 0) is None:
            del given["view_range"]
        wanted = COMMANDS[name]
        if not wanted.keys() - {"view_range"} <= given.keys() <= wanted.keys():
            raise Refused(f"Error: {name} takes {', '.join(wanted)}")
        for key, part in given.items():
            if type(part) is not wanted[key]:
                raise Refused(f"Error: Invalid `{key}` parameter: {part!r}. It should be a {wanted[key].__name__}")
        try:
            if name == "view":
                return self.view(**given)
            with self._memory.transaction():
                reply: str = getattr(self, str(name))(**given)
                return reply
        except SyncmemError as error:
            raise Refused(f"Error: {error}") from error

    # -- the commands -------------------------------------------------------------------------------

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        place, files = place_of(path), self._files()
        text = self._shown(place) if self._beliefs and is_belief(place) else files.get(place)
        if text is not None:
            return shown_file(path, text, view_range)
        inside = {name: len(text.encode()) for name, text in files.items() if name.startswith(f"{place}/")}
        more = ""
        if self._beliefs and place in (ROOT, BELIEFS):
            shown, more = self._believed()
            inside |= shown
        if not inside and place != ROOT:
            raise Refused(f"The path {path} does not exist. Please provide a valid path.")
        return shown_folder(place, inside) + more

    def create(self, path: str, file_text: str) -> str:
        place, files = self._writable(path), self._files()
        if place in files or inside_of(files, place):
            raise Refused(f"Error: File {path} already exists")
        self._put(place, file_text, files)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        place, files = self._writable(path), self._files()
        text = files.get(place)
        if text is None:
            raise Refused(f"Error: The path {path} does not exist. Please provide a valid path.")
        found = occurrences(text, old_str)
        if not found:
            raise Refused(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
        lines = [text[:start].count("\n") + 1 for start in found]
        if len(found) > 1:
            raise Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: "
                f"{', '.join(map(str, lines))}. Please ensure it is unique"
            )
        changed = text.replace(old_str, new_str)
        self._put(place, changed, files)
        first = max(1, lines[0] - SNIPPET_LINES)
        shown = numbered(changed.split("\n"), first, lines[0] + SNIPPET_LINES)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        place, files = self._writable(path), self._files()
        text = files.get(place)
        if text is None:
            raise Refused(f"Error: The path {path} does not exist")
        lines = text.removesuffix("\n").split("\n") if text else []
        if not 0 <= insert_line <= len(lines):
            raise Refused(
                f"Error: Invalid `insert_line` parameter: {insert_line}. It should be within the range of lines of the "
                f"file: [0, {len(lines)}]"
            )
        lines.insert(insert_line, insert_text.rstrip("\n"))
        self._put(place, "\n".join(lines).removesuffix("\n") + "\n", files)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        place, files = self._writable(path), self._files()
        for name in self._meant(path, place, files):
            self._end(name, files[name])
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        old, new, files = self._writable(old_path), self._writable(new_path), self._files()
        meant = self._meant(old_path, old, files)
        if new in files or inside_of(files, new):
            raise Refused(f"Error: The destination {new_path} already exists")
        if new.startswith(f"{old}/"):
            raise Refused(f"Error: {new_path} is inside of {old_path}; choose another destination")
        for name in meant:
            moved = new + name.removeprefix(old)
            self._end(name, files[name], reason=f"renamed to {moved}")
            self._put(moved, files[name], files, reason=f"renamed from {name}")
        return f"Successfully renamed {old_path} to {new_path}"

    # -- files --------------------------------------------------------------------------------------

    def _files(self) -> dict[str, str]:
        """The files that are, by path."""
        found = {}
        for entity in self._memory.entities(scope=self._scope):
            belief = self._memory.believe(entity, PREDICATE, scope=self._scope) if entity.startswith(ROOT) else None
            if belief is not None and isinstance(belief.value, str):
                found[entity] = belief.value
        return dict(sorted(found.items()))

    def _writable(self, path: str) -> str:
        place = place_of(path)
        if self._beliefs and is_belief(place):
            raise Refused(f"Error: {path} is read-only: it shows what is believed; write to another path")
        self._define()  # before it is read: of a single-valued predicate there is one value
        return place

    def _define(self) -> None:
        if not self._memory._definition(self._scope, PREDICATE).declared:
            about = "The text of a file that a model keeps."
            self._memory.define(PREDICATE, cardinality="single", description=about, **self._said)

    def _meant(self, path: str, place: str, files: Mapping[str, str]) -> list[str]:
        """The file at a path, or all files in the folder."""
        if place == ROOT:
            raise Refused(f"Error: {ROOT} itself stays; name a file or a folder in it")
        found = [place] if place in files else inside_of(files, place)
        if not found:
            raise Refused(f"Error: The path {path} does not exist")
        return found

    def _put(self, place: str, text: str, files: Mapping[str, str], reason: str | None = None) -> None:
        if place == ROOT or any(is_in(place, name) for name in files):
            raise Refused(f"Error: {place} cannot be a file there; choose another path")
        if len(text.encode(errors="replace")) > TEXT_BYTES_MAX:
            raise Refused(f"Error: File {place} would be larger than {TEXT_BYTES_MAX} bytes; keep it in several files")
        self._check(place)
        self._memory.remember(place, PREDICATE, text, mentions=self._mentions, reason=reason, **self._said)

    def _end(self, place: str, text: str, reason: str | None = None) -> None:
        self._check(place)
        self._memory.end(place, PREDICATE, text, reason=reason, **self._said)

    def _check(self, place: str) -> None:
        belief = self._memory.believe(place, PREDICATE, scope=self._scope)
        if belief is not None and belief.trust > self._trust:
            raise Refused(f"Error: {place} was written with more trust than yours; ask the user to change it")

    # -- beliefs ------------------------------------------------------------------------------------

    def _shown(self, place: str) -> str | None:
        """What is believed of the entity that a path names."""
        name = place.removeprefix(f"{BELIEFS}/")
        entity = unquote(name.removesuffix(".md"))
        if name == BELIEFS or not name.endswith(".md") or not self._told(entity):
            return None
        return self._memory.briefing(entity, scope=self._scope).to_prompt()

    def _told(self, entity: str) -> bool:
        return not entity.startswith(ROOT) and bool(self._memory.beliefs(entity, scope=self._scope))

    def _believed(self) -> tuple[dict[str, int], str]:
        """The paths of what is believed, with their sizes; and a line on those that are not listed."""
        told = [entity for entity in self._memory.entities(scope=self._scope) if self._told(entity)]
        shown = {}
        for entity in told[:BELIEFS_LISTED_MAX]:
            text = self._memory.briefing(entity, scope=self._scope, log=False).to_prompt()
            shown[f"{BELIEFS}/{file_name(entity)}"] = len(text.encode())
        left = len(told) - len(shown)
        return shown, f"\n({left} more entities: view {BELIEFS}/ENTITY.md)" if left else ""


COMMANDS: Final[dict[Any, dict[str, type]]] = {
    "view": {"path": str, "view_range": list},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
