"""Pages: templates that escape whatever is put into them, and how values, times and places are shown there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup

from syncmem.model.instant import local_text
from syncmem.page.making import templates
from syncmem.picture.legible import escaped, period_text, presumed_text, shortened, source_text, value_text
from syncmem.picture.shapes import Drawing
from syncmem.picture.svg import svg
from syncmem.sync import shown

VALUE_CHARACTERS_MAX: Final = 2_000  # of a value in a table; more is cut and says so


@dataclass(frozen=True, slots=True)
class Figure:
    """One picture in two widths, of which a page shows the one that fits."""

    wide: Drawing
    narrow: Drawing

    @property
    def wide_svg(self) -> Markup:
        return Markup(svg(self.wide))  # the one door by which markup that no template wrote comes into a page

    @property
    def narrow_svg(self) -> Markup:
        return Markup(svg(self.narrow))


class Pages:
    """The templates, with the words of one memory: its zone, and how devices are called by their ids."""

    def __init__(self, zone: tzinfo, devices: Mapping[str, str], **everywhere: Any) -> None:
        self.zone = zone
        self._devices = devices
        self._templates = templates("syncmem.view")
        self._templates.filters |= {
            "value": lambda value: shortened(value_text(value), VALUE_CHARACTERS_MAX),
            "name": escaped,
            "spelled": lambda name: escaped(name.replace("_", " ")),
            "when": self.when,
            "presumed": lambda since: presumed_text(since, zone),
            "period": lambda belief: period_text(belief.valid_from, belief.valid_to, zone),
            "shown": shown,
            "source": lambda source: source_text(source) or "source not named",
            "device": self.device,
        }
        self._templates.globals |= {"to": to, **everywhere}

    def when(self, moment: datetime | None) -> str:
        return local_text(moment, self.zone)

    def device(self, id: str) -> str:
        """What a device is called."""
        return escaped(self._devices.get(id, f"device {id}"))

    def text(self, template: str, **given: Any) -> str:
        return self._templates.get_template(template).render(**given)


def to(path: str, fragment: str = "", /, **parameters: object) -> str:
    """An address on this server; what is None or empty is left out."""
    given = {name.rstrip("_"): str(value) for name, value in parameters.items() if value not in (None, "")}
    return path + (f"?{urlencode(given)}" if given else "") + (f"#{fragment}" if fragment else "")


def without(given: Mapping[str, str], *names: str) -> dict[str, str]:
    """Parameters without some of them."""
    return {name: value for name, value in given.items() if name not in names}
