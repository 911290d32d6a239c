r"""The one check of JSON from clients. Values that passed it can be written in UTF-8 and as JSON.

JSON can write an unpaired surrogate, as in `"\ud83d"` (RFC 8259, section 8.2), which UTF-8 cannot encode, and Python
reads `NaN` and `1e999`, which JSON cannot write. In the arguments of a call both are refused with a text for the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from toolmason_runtime.protocol.results import encodable
from toolmason_runtime.protocol.wording import Path, named

REFUSED_ARGUMENTS: Final = "toolmason/refusedArguments"
"""Key of `_meta`: why the arguments of a call were taken out of it, as a list of texts."""
MAX_FLAWS: Final = 20
"""Maximum number of flaws reported for one call."""

_ARGUMENTS: Final = ("params", "arguments")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Flaw:
    """A value that cannot be passed on, or a name inside the object at `path`."""

    path: Path
    reason: str
    is_number: bool = False

    @property
    def text(self) -> str:
        """The flaw as the model reads it."""
        return f"{named(self.path)} {self.reason if self.path else self.reason.replace('has', 'have', 1)}"


class NotFiniteError(ValueError):
    """A message has a number that is not finite outside of the arguments of a call."""


def flaws(value: Any, path: Path = ()) -> Iterator[Flaw]:
    """Yield each unpaired surrogate and each number that is not finite in `value`, which is at `path`."""
    if isinstance(value, float) and not math.isfinite(value):
        yield Flaw(path, f"must be a finite number; got {value}", is_number=True)
    elif isinstance(value, str) and (found := _SURROGATE.search(value)):
        yield Flaw(path, f"holds {_shown(found)}, at character {found.start() + 1}{_ADVICE}")
    elif isinstance(value, dict):
        for name, member in value.items():
            if found := _SURROGATE.search(name):
                yield Flaw(path, f"has a name with {_shown(found)}{_ADVICE}")
            yield from flaws(member, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from flaws(item, (*path, index))


def problems_of(value: Any, path: Path) -> list[str]:
    """Return texts for the flaws of `value`, which was decoded from a text inside of the arguments."""
    try:
        return [flaw.text for flaw in islice(flaws(value, path), MAX_FLAWS)]
    except RecursionError:
        return [f"{named(path)} is nested too deeply"]


_ADVICE: Final = r": send both halves, as in `\ud83d\ude00`, or leave it out"


def _shown(found: re.Match[str]) -> str:
    return f"`\\u{ord(found[0]):x}`, half a character"


def checked(value: Any) -> Any:
    """Return a decoded message that UTF-8 and JSON can carry.

    Flawed arguments of a call are replaced by `REFUSED_ARGUMENTS`; unpaired surrogates elsewhere become `?`.

    Raises:
        NotFiniteError: a number outside of the arguments of a call is not finite.
    """
    found = list(islice(flaws(value), MAX_FLAWS))
    refused = [Flaw(flaw.path[2:], flaw.reason) for flaw in found if flaw.path[:2] == _ARGUMENTS]
    if any(flaw.is_number and flaw.path[:2] != _ARGUMENTS for flaw in found):
        raise NotFiniteError("numbers must be finite")
    if refused:
        value = {**value, "params": _without_arguments(value["params"], refused)}
    return encodable(value) if found else value


def _without_arguments(params: Mapping[str, Any], refused: list[Flaw]) -> dict[str, Any]:
    meta = params.get("_meta")
    texts = [flaw.text for flaw in refused]
    return {**params, "arguments": {}, "_meta": {**(meta if isinstance(meta, dict) else {}), REFUSED_ARGUMENTS: texts}}


def refused_arguments(params: Mapping[str, Any]) -> list[str]:
    """Return why the arguments of a call were taken out of its `params`; empty if they were not."""
    meta = params.get("_meta")
    texts = meta.get(REFUSED_ARGUMENTS, []) if isinstance(meta, Mapping) else []
    return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
