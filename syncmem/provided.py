"""What is known by a name: this package's own things, and those that other packages provide by entry points.

======================= =================== ==================================================================
group                   the name is         the object
======================= =================== ==================================================================
``syncmem.embedders``   the embedder's      makes an :class:`~syncmem.recall.embedding.Embedder` when called
``syncmem.extractors``  the extractor's     is an :class:`~syncmem.judging.extracting.Extractor`
``syncmem.importers``   the kind of archive makes an :class:`~syncmem.importers.records.Importer` when called
``syncmem.mailboxes``   an address's scheme makes a :class:`~syncmem.wire.mailbox.Mailbox` of an address
======================= =================== ==================================================================

Rules: nothing is looked up before it is asked for by a name that is not this package's own, and a name of its own is
never taken by another; what another package gets wrong is told with its name and version, and breaks nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from syncmem.errors import InvalidInput, SyncmemError


@dataclass(frozen=True, slots=True)
class Provided:
    """The things of one group.

    Attributes:
        what: how one of them is called in messages.
        own: names of this package's own, each with "module:object".
        parts: what each of them must have, to be one.
    """

    group: str
    what: str
    own: Mapping[str, str]
    parts: tuple[str, ...]

    def names(self) -> list[str]:
        """All names, in order."""
        return sorted({*self.own, *entry_points(group=self.group).names})

    def has(self, name: str) -> bool:
        return name in self.own or bool(entry_points(group=self.group, name=name))

    def named(self, name: str) -> Any:
        """The object of a name.

        Raises:
            InvalidInput: there is none, several packages provide it, or it cannot be loaded.
        """
        if name in self.own:
            module, _, attribute = self.own[name].partition(":")
            return getattr(import_module(module), attribute)
        entry = self._entry(name)
        try:
            return entry.load()
        except Exception as error:  # a module of somebody else: anything may happen
            raise self._broken(entry, error) from error

    def made(self, name: str, *given: Any) -> Any:
        """What the object of a name makes; its own errors of this package's kinds pass as they are.

        Raises:
            InvalidInput: as for :meth:`named`, or it makes something else.
        """
        make = self.named(name)
        if name in self.own:
            return make(*given)
        entry = self._entry(name)
        try:
            made = make(*given)
        except SyncmemError:
            raise
        except Exception as error:
            raise self._broken(entry, error) from error
        lacking = [part for part in self.parts if not hasattr(made, part)]
        if lacking:
            raise InvalidInput(
                f"the {self.what} {name!r} of {_package(entry)} has no {', '.join(lacking)}; update that package"
            )
        return made

    def _entry(self, name: str) -> EntryPoint:
        found = list(dict.fromkeys(entry_points(group=self.group, name=name)))
        if not found:
            raise InvalidInput(f"there is no {self.what} {name!r}; use one of {', '.join(self.names())}")
        if len(found) > 1:
            packages = " and ".join(map(_package, found))
            raise InvalidInput(f"{packages} both provide the {self.what} {name!r}; uninstall all but one")
        return found[0]

    def _broken(self, entry: EntryPoint, error: Exception) -> InvalidInput:
        said = f"{type(error).__name__}: {error}"
        return InvalidInput(
            f"the {self.what} {entry.name!r} of {_package(entry)} cannot be loaded ({said}); update that package, or "
            "uninstall it"
        )


def _package(entry: EntryPoint) -> str:
    """The package of an entry point, with its version."""
    found = entry.dist
    return entry.value if found is None else f"{found.name} {found.version}"
