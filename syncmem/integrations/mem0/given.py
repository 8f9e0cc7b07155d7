"""What callers hand over, in the several forms that mem0 takes, checked and in one form."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from syncmem.errors import InvalidInput
from syncmem.integrations.mem0.filters import owners


def read_messages(given: Any) -> list[dict[str, Any]]:
    """Messages as role, content and name; text is the user's. What has no role or no text is passed over."""
    listed = [{"role": "user", "content": given}] if isinstance(given, str) else given
    listed = [listed] if isinstance(listed, Mapping) else listed
    if not isinstance(listed, list | tuple):
        raise InvalidInput(f"messages are text, a dict or a list of dicts, not {type(given).__name__}; pass such")
    found = []
    for each in listed:
        if isinstance(each, Mapping) and each.get("role") is not None and each.get("content") is not None:
            found.append({"role": str(each["role"]), "content": _text(each["content"]), "name": each.get("name")})
    return [each for each in found if each["content"]]


def _text(content: Any) -> str:
    """The text of a message; of one in parts, the parts that are text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else [content]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))


def day(given: Any) -> str | None:
    """An expiration date as text."""
    if given is None:
        return None
    try:
        day = given.date() if isinstance(given, datetime) else given
        return (day if isinstance(day, date) else date.fromisoformat(day)).isoformat()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"expiration_date is a day such as '2026-03-14', not {given!r}; pass one") from error


def read_filters(filters: Mapping[str, Any] | None, owner: Mapping[str, Any]) -> dict[str, Any]:
    """Filters with their owners, from the filters or named beside them."""
    unknown = owner.keys() - {"user_id", "agent_id", "run_id"}
    if unknown:
        raise InvalidInput(f"there is no argument {', '.join(sorted(unknown))}; pass filters={{...}}")
    wanted = {**owner, **fields("filters", filters)}
    return wanted | owners(wanted)


def fields(name: str, given: Any) -> dict[str, Any]:
    """A dict of fields, or none."""
    if not isinstance(given, Mapping | None):
        raise InvalidInput(f"{name} is a dict of fields, not {type(given).__name__}; pass {{'topic': 'sport'}}")
    return dict(given or {})


def count(top_k: Any) -> int:
    if type(top_k) is not int or top_k < 0:
        raise InvalidInput(f"top_k is a number of memories, not {top_k!r}; pass 0 or more")
    return top_k
