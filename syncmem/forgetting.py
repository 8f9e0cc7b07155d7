"""The verb that makes forget: erase; and scrub, which finishes what a reading program held up."""

from __future__ import annotations

import re
from typing import Final

from syncmem import statements
from syncmem.errors import InvalidInput
from syncmem.model.episode import ENTITY_PREFIX
from syncmem.model.event import Erase
from syncmem.model.frame import DEVICE_SCOPE
from syncmem.opened import Opened
from syncmem.replica.catalog import VAULT
from syncmem.results import ErasureReport
from syncmem.statements import Words

Trust = int | str | None
_EPISODE_ID: Final = re.compile(r"[0-9a-f]{32}")
_PATIENCE_SECONDS: Final = (0.0, 0.02, 0.1, 0.3)  # for programs that read a moment; longer ones are not waited for


class Forgetting(Opened):
    """erase, scrub."""

    def erase(
        self,
        entity: str | None = None,
        *,
        episode: str | None = None,
        aliases: bool = True,
        scope: str | None = None,
        reason: str | None = None,
        trust: Trust = None,
    ) -> ErasureReport:
        """Make forget everything about an entity, here and on every device that hears of it. Nothing brings it back.

        All statements about ``entity`` go, those that mention it, the links that name it, the episodes that it spoke or
        that mention it, and their content: from the logs, from what was believed at any time, from the file, from the
        mailboxes.  An item of a store goes if its path holds the entity: ``erase("ana")`` means the item
        ``'["users","ana","prefs"]'`` of LangGraph's store, too, and that path as ``entity`` means it alone.
        What is said about it afterwards, by a device that has heard of the erasure, is kept.
        Copies outside of the file (backups, bundles, what a restore put aside) are yours to delete.

        Args:
            episode: instead of an entity the id of one episode. What was drawn from it stays; its words are gone.
            aliases: all names that are one with it, too (``report.entities``); else the others are left as if nobody
                had ever linked them with this one.
            scope: only there; unsaid: in every scope that is known here.
            reason: kept with the erasure, so it must not name the entity.

        Raises:
            InvalidInput: the reason names the entity, or not one of ``entity`` and ``episode`` was named.
        """
        if (entity is None) == (episode is None):
            raise InvalidInput("erase names an entity, or episode= and its id; pass one of them")
        if episode is not None and not _EPISODE_ID.fullmatch(episode):
            raise InvalidInput(f"{episode!r} is no episode's id; take one from episodes()")
        entity = statements.name("entity", entity or f"{ENTITY_PREFIX}{episode}")
        said = self._words(
            scope=scope or VAULT, trust=trust, source=None, observed_at=None, batch=None, reason=reason, zone=None
        )
        with self._lock:
            events: dict[str, int] = {}
            ids = []
            with self._replica.transaction():
                scopes = [said.scope] if scope is not None else self._scopes()
                all_names = self._replica.aliases.names
                named = {each: all_names(each, entity) if aliases else [entity] for each in scopes}
                entities = sorted({name for names in named.values() for name in names})
                _check_nameless(reason, entities)
                for each, names in named.items():
                    if scope is None and each == DEVICE_SCOPE and not self._is_about_any(each, names):
                        continue
                    written = self._replica.erase(each, names, lambda names, salt: _erasure(names, salt, said))
                    events[each] = self._replica.erasing.erased.get(each, 0)
                    ids.append(self._telling.event_id(written.positions[-1]))
                alike = () if any(events.values()) else self._alike(entity, scopes)
            return ErasureReport(tuple(entities), events, tuple(ids), self._scrub(), alike)

    def _alike(self, entity: str, scopes: list[str]) -> tuple[str, ...]:
        """The entities of which something is believed, and whose names differ from this one in case alone."""
        sql = "SELECT DISTINCT scope, entity FROM slots WHERE entity <> ? AND id IN (SELECT slot FROM pages)"
        found = self._replica.db.execute(sql, (entity,)).fetchall()
        return tuple(sorted({n for where, n in found if where in scopes and n.casefold() == entity.casefold()}))

    def scrub(self) -> bool:
        """Remove what earlier erasures may have left in the file; whether no trace is left.

        False while another program reads with an old view of the file, or writes: end it, then try again.
        """
        with self._lock:
            self._replica.db.check_usable()
            self._replica.refresh()
            return self._scrub()

    def _scrub(self) -> bool:
        if self._replica.db.in_transaction:
            return False
        for pause in _PATIENCE_SECONDS:
            if self._replica.scrubber.state is not None and pause:
                self._environment.clock.sleep(pause)
            if self._replica.scrubber.scrub():
                return True
        return False

    def _scopes(self) -> list[str]:
        """Every scope known here."""
        return sorted({log.key.scope for log in self._replica.logs.held() if log.key is not None} | {VAULT})

    def _is_about_any(self, scope: str, entities: list[str]) -> bool:
        """Whether there is anything to erase: the scope that never leaves the device is told of nothing else."""
        erasing = self._replica.erasing
        return any(erasing.about(scope, each) for each in erasing.meant(scope, entities))


def _check_nameless(reason: str | None, entities: list[str]) -> None:
    if reason is not None and any(entity.casefold() in str(reason).casefold() for entity in entities):
        raise InvalidInput("the reason is kept and names the entity that is to go; say it without the name")


def _erasure(names: list[bytes], salt: bytes | None, said: Words) -> Erase:
    return Erase(names, salt, said.trust, None, None, said.extra or None)
