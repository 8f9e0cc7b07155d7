"""ChatGPT: ``conversations.json`` of a data export, the folder that it is in, or the zip file as it was sent.

Each conversation holds its messages as a tree (``mapping``): an edited question or an answer that was asked for again
is a branch, and ``current_node`` the end of the branch that stood.  Rules: what was shown to the user as said by one of
the two is a turn; what the system, tools and hidden messages say is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from syncmem.importers.archive import Archive
from syncmem.importers.records import ABANDONED, ASSISTANT, SPOKEN, USER, Plain, Record, Skipped, Turn, named
from syncmem.importers.threads import Node, in_order
from syncmem.importers.times import order

FILES = "conversations*.json"
_SPEAKERS = {"user": USER, "assistant": ASSISTANT}
_SPOKEN_TYPES = frozenset({"text", "multimodal_text", "code", ""})


class ChatGPT(Plain):
    """Reads conversations as trees."""

    kind: ClassVar[str] = "chatgpt"

    def read(self, archive: Archive) -> Iterator[Record]:
        for name in archive.names(FILES):
            for number, conversation in enumerate(archive.items(name, "item"), 1):
                yield from _turns(conversation, f"{name or 'the file'}, conversation {number}")


def _turns(conversation: Any, place: str) -> Iterator[Record]:
    mapping = conversation.get("mapping") if isinstance(conversation, dict) else None
    if not isinstance(mapping, dict):
        yield Skipped(place, "it is no conversation: it has no mapping")
        return
    name = named(conversation.get("conversation_id")) or named(conversation.get("id"))
    title = conversation.get("title")
    nodes = {id: _node(id, held) for id, held in mapping.items() if isinstance(held, dict)}
    began = order(conversation.get("create_time"))
    for placed in in_order(nodes, named(conversation.get("current_node")), began):
        message = placed.node.held
        speaker, text = _speaker(message), _text(message)
        if speaker is not None and text.strip():
            yield Turn(
                id=(name or "", named(message.get("id")) or placed.node.id),
                text=text,
                by=speaker,
                at=placed.at,
                conversation=name,
                title=title if isinstance(title, str) and title else None,
                form=ABANDONED if placed.abandoned else SPOKEN,
            )


def _node(id: str, held: dict[str, Any]) -> Node:
    message = held.get("message")
    parent = held.get("parent")
    said = message if isinstance(message, dict) else {}
    return Node(id, parent if isinstance(parent, str) else None, order(said.get("create_time")), said)


def _speaker(message: dict[str, Any]) -> str | None:
    """Who said it to whom it may concern; None for what was not said in the conversation."""
    author, metadata = _table(message, "author"), _table(message, "metadata")
    hidden = metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    if hidden or message.get("recipient") not in (None, "all"):
        return None
    return _SPEAKERS.get(str(author.get("role")))


def _text(message: dict[str, Any]) -> str:
    content = _table(message, "content")
    if str(content.get("content_type") or "") not in _SPOKEN_TYPES:
        return ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content["text"] if isinstance(content.get("text"), str) else ""
    texts = [part if isinstance(part, str) else _table({"part": part}, "part").get("text") for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _table(within: dict[str, Any], name: str) -> dict[str, Any]:
    found = within.get(name)
    return found if isinstance(found, dict) else {}
