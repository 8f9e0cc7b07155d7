"""How a relay is configured: a file, the environment, the command line; the latter outweigh the former.

Rules: everything is checked before anything is opened; what is wrong is told with its name and where it was said, all
of it at once; a name that nobody knows is an error, because a limit that is misspelt would not hold; secrets are never
shown. Every setting has the same name everywhere: ``port`` in the file, ``SYNCMEM_RELAY_PORT`` in the environment
(``SYNCMEM_RELAY_LIMITS__STREAMS_MAX`` for those of a table), ``--port`` on the command line.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import (
    BaseModel,
    ByteSize,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from syncmem.errors import InvalidInput
from syncmem.relay.limits import Limits
from syncmem.relay.stores import DATABASES

PREFIX: Final = "SYNCMEM_RELAY_"
DEFAULT_PORT: Final = 8750
TOKEN_LETTERS_MIN: Final = 16
_STRICT: Final = ConfigDict(extra="forbid", frozen=True)


def _limit(name: str, usual: Any) -> tuple[Any, Any]:
    """The same limit as in :class:`Limits`; bytes may also be written as "4 GiB"."""
    number = ByteSize if "bytes" in name else (float if "seconds" in name and "max" not in name else int)
    least = Field(default=usual, ge=0) if name.endswith("streams_max") else Field(default=usual, gt=0)
    return (number if usual is not None else number | None, least)


_LIMITS: Final[dict[str, Any]] = {one.name: _limit(one.name, one.default) for one in fields(Limits)}
LimitsTable: Any = create_model("LimitsTable", __config__=_STRICT, **_LIMITS)


class Settings(BaseModel):
    """All of it.

    Attributes:
        data: the folder of the store; ``store``: instead, the address of a database; ``blobs``: of object storage.
        tls_cert, tls_key: PEM files; without them the relay speaks plain HTTP, for a proxy in front of it.
        trusted_proxies: addresses or networks whose ``X-Forwarded-For`` says where a request comes from.
        tokens: who has one may open mailboxes; none: anybody may.
        admin_token: who has it is shown the operator's page, /admin; none: nobody is, there is none.
        metrics: an address for /metrics of its own, "main" for beside the rest, "off".
        log: "text" or "json", one line each; ``access_log``: also a line for each request.
        wake_url: is told of every mailbox that moves, so that it can wake phones; ``wake_secret`` signs that.
    """

    model_config = _STRICT

    data: Path | None = None
    store: str | None = None
    blobs: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    trusted_proxies: tuple[str, ...] = ()
    tokens: tuple[SecretStr, ...] = ()
    admin_token: SecretStr | None = None
    metrics: str = "off"
    log: Literal["text", "json"] = "text"
    access_log: bool = False
    wake_url: str | None = None
    wake_secret: SecretStr | None = None
    limits: LimitsTable = LimitsTable()

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            ip_network(each, strict=False)
        return value

    @field_validator("tokens")
    @classmethod
    def _are_long(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for token in value:
            said = token.get_secret_value()
            if len(said) < TOKEN_LETTERS_MIN or not (said.isascii() and said.replace("-", "").isalnum()):
                raise ValueError(f"a token has at least {TOKEN_LETTERS_MIN} letters, digits and hyphens")
        return value

    @field_validator("admin_token")
    @classmethod
    def _is_long(cls, value: SecretStr | None) -> SecretStr | None:
        return None if value is None else cls._are_long((value,))[0]

    @field_validator("store")
    @classmethod
    def _is_database(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(DATABASES):
            raise ValueError("it is no database of a relay; use postgres://USER@HOST/NAME, or data for a folder")
        return value

    @field_validator("metrics")
    @classmethod
    def _is_place(cls, value: str) -> str:
        if value not in ("off", "main"):
            where(value)
        return value

    @field_validator("wake_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("https://", "http://")):
            raise ValueError("it is no URL; use https://HOST/PATH")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Settings:
        if (self.data is None) == (self.store is None):
            raise ValueError("the relay keeps its blobs in one place; name data, or store")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("a certificate has a key; name tls_cert and tls_key, or neither")
        return self

    @property
    def place(self) -> str:
        """Where the store is."""
        return self.store if self.store is not None else str(self.data)

    @property
    def limit_values(self) -> Limits:
        return Limits(**{name: getattr(self.limits, name) for name in type(self.limits).model_fields})

    @property
    def token_values(self) -> list[str]:
        return [token.get_secret_value() for token in self.tokens]


def where(text: str) -> tuple[str, int]:
    """The host and port of ``HOST:PORT``."""
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} is no HOST:PORT; use for example 127.0.0.1:9750")
    return host.strip("[]"), int(port)


def load(file: Path | None, environment: Mapping[str, str], options: Mapping[str, Any]) -> Settings:
    """The settings of a relay.

    Raises:
        InvalidInput: something of them is wrong; all of it is told.
    """
    said: dict[str, Any] = {} if file is None else _read(file)
    source = dict.fromkeys(_names(said), str(file))
    for given, name in ((_from(environment), "the environment"), (_without_none(options), "the command line")):
        said = _merged(said, given)
        source |= dict.fromkeys(_names(given), name)
    try:
        return Settings.model_validate(said)
    except ValidationError as error:
        lines = [_told(each, source) for each in error.errors(include_url=False, include_input=False)]
        raise InvalidInput("the relay's configuration is wrong: " + "; ".join(lines)) from None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read ({error.strerror}); check the path and its rights") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is no TOML ({error}); correct it") from error


def _from(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in environment.items():
        if name.startswith(PREFIX):
            table, _, key = name.removeprefix(PREFIX).lower().rpartition("__")
            (found.setdefault(table, {}) if table else found)[key] = _listed(key, value)
    return found


def _listed(key: str, value: str) -> Any:
    many = key in ("tokens", "trusted_proxies")
    return [each.strip() for each in value.split(",") if each.strip()] if many else value


def _without_none(options: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in options.items() if value is not None and not isinstance(value, Mapping)}
    tables = {name: _without_none(value) for name, value in options.items() if isinstance(value, Mapping)}
    return kept | {name: table for name, table in tables.items() if table}


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    tables = {n for n in below.keys() & above.keys() if isinstance(below[n], dict) and isinstance(above[n], dict)}
    return {**below, **above, **{name: _merged(below[name], above[name]) for name in tables}}


def _names(said: Mapping[str, Any], before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, value in said.items():
        place = (*before, name)
        found += [place, *(_names(value, place) if isinstance(value, Mapping) else ())]
    return found


def _told(error: ErrorDetails, source: Mapping[tuple[str, ...], str]) -> str:
    place = tuple(str(part) for part in error["loc"])
    known = next((source[place[:size]] for size in range(len(place), 0, -1) if place[:size] in source), "")
    named = ".".join(place)
    what = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        what = "nobody knows this setting"
    return f"{named}: {what} ({known})" if known else f"{named}: {what}" if named else what
