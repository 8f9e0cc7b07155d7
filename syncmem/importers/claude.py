"""Claude: ``conversations.json`` of a data export, the folder that it is in, or the zip file as it was sent.

Messages are listed in order; where they name the message that they answer (``parent_message_uuid``) they are a tree,
whose current branch ends at ``current_leaf_message_uuid``, else with the latest message.  A text file that was attached
is a document, of which the archive holds the extracted text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from syncmem.importers.archive import Archive
from syncmem.importers.chatgpt import FILES
from syncmem.importers.records import ABANDONED, ASSISTANT, DOCUMENT, SPOKEN, USER, Plain, Record, Skipped, Turn, named
from syncmem.importers.threads import Node, Placed, in_order
from syncmem.importers.times import order

_SPEAKERS = {"human": USER, "user": USER, "assistant": ASSISTANT}


class Claude(Plain):
    """Reads conversations as lists or trees of messages."""

    kind: ClassVar[str] = "claude"

    def read(self, archive: Archive) -> Iterator[Record]:
        for name in archive.names(FILES):
            for number, conversation in enumerate(archive.items(name, "item"), 1):
                yield from _turns(conversation, f"{name or 'the file'}, conversation {number}")


def _turns(conversation: Any, place: str) -> Iterator[Record]:
    messages = conversation.get("chat_messages") if isinstance(conversation, dict) else None
    if not isinstance(messages, list):
        yield Skipped(place, "it is no conversation: it has no chat_messages")
        return
    name, title = conversation.get("uuid"), conversation.get("name")
    nodes: dict[str, Node] = {}
    before: str | None = None
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            yield Skipped(f"{place}, message {number}", "it is no message")
            continue
        id = named(message.get("uuid")) or f"message {number}"
        parent = named(message.get("parent_message_uuid", before))
        nodes.setdefault(id, Node(id, parent, order(message.get("created_at")), message))
        before = id
    told = (named(name), title if isinstance(title, str) and title else None)
    leaf, began = named(conversation.get("current_leaf_message_uuid")), order(conversation.get("created_at"))
    for placed in in_order(nodes, leaf, began):
        yield from _said(placed, *told)


def _said(placed: Placed, conversation: str | None, title: str | None) -> Iterator[Turn]:
    message, id = placed.node.held, (conversation or "", placed.node.id)
    speaker = _SPEAKERS.get(str(message.get("sender")))
    if speaker is None:
        return
    for number, attached in enumerate(_tables(message.get("attachments"))):
        text, file = attached.get("extracted_content"), attached.get("file_name")
        if isinstance(text, str) and text.strip():
            named = str(file) if file else None
            yield Turn((*id, f"attachment {number}"), text, speaker, placed.at, conversation, named, DOCUMENT)
    text = _text(message)
    if text.strip():
        form = ABANDONED if placed.abandoned else SPOKEN
        yield Turn(id, text, speaker, placed.at, conversation, title, form)


def _text(message: dict[str, Any]) -> str:
    """What was said: the parts that are text, else the message's own text."""
    parts = [part.get("text") for part in _tables(message.get("content")) if part.get("type") == "text"]
    joined = "\n".join(part for part in parts if isinstance(part, str) and part)
    own = message.get("text")
    return joined or (own if isinstance(own, str) else "")


def _tables(found: object) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
