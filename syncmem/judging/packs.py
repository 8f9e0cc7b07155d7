"""Predicate packs: many definitions in one TOML file, checked at the door.

A pack has a ``name``, a ``description`` and tables ``[predicates.NAME]`` with the arguments of
:meth:`syncmem.Memory.define`.  Rules: a pack is read whole or refused whole, and the message names the place;
no name or alias leads to two of its predicates; it never redefines what is defined already, and gives way to a
definition by the user, because its own are of the tier "document".
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from syncmem.environment import Disk
from syncmem.errors import FileError, InvalidInput
from syncmem.model.names import normal
from syncmem.results import as_dict

SHIPPED: Final = ("personal",)
PACK_BYTES_MAX: Final = 1024 * 1024  # more than a person will ever write
_STRICT: Final = ConfigDict(extra="forbid", strict=True, frozen=True)


class PackPredicate(BaseModel):
    """One predicate of a pack; the fields are those of :meth:`syncmem.Memory.define`."""

    model_config = _STRICT
    cardinality: Literal["single", "many"]
    equality: Literal["exact", "casefold", "number", "date"] | None = None
    ttl: str | None = None
    stale_after: str | None = None
    stale_trust: int | str | None = None
    then: Literal["resume", "vacate"] | None = None
    sensitive: bool | None = None
    description: str | None = None
    aliases: list[str] = []
    corroborated_by: int | None = None


class Pack(BaseModel):
    """A pack as it stands in its file."""

    model_config = _STRICT
    name: str = Field(min_length=1)
    description: str = ""
    predicates: dict[str, PackPredicate] = Field(min_length=1)

    def settings(self) -> dict[str, dict[str, Any]]:
        """The arguments of ``define`` for each predicate."""
        return {name: each.model_dump(exclude_unset=True) for name, each in self.predicates.items()}


@dataclass(frozen=True, slots=True)
class PackReport:
    """What a pack brought: the predicates that it ``defined``, and those that were defined before and ``kept``."""

    pack: str
    defined: tuple[str, ...]
    kept: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


def load(pack: str, disk: Disk) -> Pack:
    """A shipped pack by its name, or one of one's own by the path of its file.

    Raises:
        InvalidInput: there is no such pack, or it is not right; the message says where.
        FileError: its file cannot be read.
    """
    if pack in SHIPPED:
        return read(files("syncmem.judging").joinpath(f"{pack}.toml").read_bytes(), pack)
    try:
        data = disk.read(pack)
    except OSError as error:
        raise FileError(f"the pack {pack} cannot be read ({error.strerror}); check the path") from error
    if data is None:
        raise InvalidInput(f"there is no pack {pack!r}; use {', '.join(SHIPPED)} or the path of a TOML file")
    return read(data, pack)


def read(data: bytes, where: str) -> Pack:
    """A pack from the bytes of its file; ``where`` is for the message.

    >>> read(b'name = "home"\\n[predicates.door_code]\\ncardinality = "single"\\nsensitive = true', "home.toml").name
    'home'
    """
    if len(data) > PACK_BYTES_MAX:
        raise InvalidInput(f"the pack {where} takes more than {PACK_BYTES_MAX} bytes; split it")
    try:
        pack = Pack.model_validate(tomllib.loads(data.decode("utf-8-sig")))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidInput(f"the pack {where}: {place}: {first['msg']}; correct it, nothing was defined") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the pack {where} is no TOML ({error}); correct it, nothing was defined") from error
    _refuse_shared_names(pack, where)
    return pack


def _refuse_shared_names(pack: Pack, where: str) -> None:
    owner: dict[str, str] = {}
    for name, each in pack.predicates.items():
        for called in (name, *each.aliases):
            other = owner.setdefault(normal(called), name)
            if other != name:
                raise InvalidInput(f"the pack {where}: {called!r} leads to {other} and to {name}; drop one of them")
