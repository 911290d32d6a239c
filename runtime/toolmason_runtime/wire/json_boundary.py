r"""The only check of JSON from clients. Values that pass it can be encoded as JSON in UTF-8.

JSON allows an unpaired surrogate, as in `"\ud83d"` (RFC 8259, section 8.2), which UTF-8 cannot encode, and Python
accepts `NaN` and `1e999`, which JSON cannot express. Both are rejected in the arguments of a call, with an error text
for the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from toolmason_runtime.shared.values.wording import Path, named
from toolmason_runtime.wire.results import encodable

REFUSED_ARGUMENTS: Final = "toolmason/refusedArguments"
"""Key of `_meta`: a list of error texts about the arguments, which were removed from the call."""
MAX_FLAWS: Final = 20
"""Maximum number of flaws reported for one call."""

_ARGUMENTS: Final = ("params", "arguments")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Python's decoder joins surrogate pairs, so the remaining ones are unpaired."""
_SURROGATE_ADVICE: Final = r"; send the complete pair, such as `\ud83d\ude00`, or remove it"


@dataclass(frozen=True, slots=True)
class Flaw:
    """A value that cannot be encoded, or a member name of the object at `path`."""

    path: Path
    reason: str
    is_number: bool = False

    @property
    def text(self) -> str:
        """The error text for the model."""
        return f"{named(self.path)} {self.reason if self.path else self.reason.replace('has', 'have', 1)}"


class NotFiniteError(ValueError):
    """A message contains NaN or infinity outside of the arguments of a call."""


def flaws(value: Any, path: Path = ()) -> Iterator[Flaw]:
    """Yield each unpaired surrogate and each number that is not finite in `value`, which is at `path`."""
    if isinstance(value, float) and not math.isfinite(value):
        yield Flaw(path, f"must be a finite number; got {value}", is_number=True)
    elif isinstance(value, str) and (match := _LONE_SURROGATE.search(value)):
        yield Flaw(path, f"contains {_describe(match)} at character {match.start() + 1}{_SURROGATE_ADVICE}")
    elif isinstance(value, dict):
        for name, member in value.items():
            if match := _LONE_SURROGATE.search(name):
                yield Flaw(path, f"has a name with {_describe(match)}{_SURROGATE_ADVICE}")
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


def _describe(match: re.Match[str]) -> str:
    return f"the unpaired surrogate `\\u{ord(match[0]):x}`"


def sanitize(value: Any) -> Any:
    """Return a decoded message that can be encoded as JSON in UTF-8.

    Flawed arguments of a call are replaced by `REFUSED_ARGUMENTS`; unpaired surrogates elsewhere become `?`.

    Raises:
        NotFiniteError: a number outside of the arguments of a call is not finite.
    """
    all_flaws = list(islice(flaws(value), MAX_FLAWS))
    of_arguments = [Flaw(flaw.path[2:], flaw.reason) for flaw in all_flaws if flaw.path[:2] == _ARGUMENTS]
    if any(flaw.is_number and flaw.path[:2] != _ARGUMENTS for flaw in all_flaws):
        raise NotFiniteError("numbers must be finite")
    if of_arguments:
        value = {**value, "params": _without_arguments(value["params"], of_arguments)}
    return encodable(value) if all_flaws else value


def _without_arguments(params: Mapping[str, Any], of_arguments: list[Flaw]) -> dict[str, Any]:
    meta = params.get("_meta")
    texts = [flaw.text for flaw in of_arguments]
    return {**params, "arguments": {}, "_meta": {**(meta if isinstance(meta, dict) else {}), REFUSED_ARGUMENTS: texts}}


def refused_arguments(params: Mapping[str, Any]) -> list[str]:
    """Return the error texts about removed arguments from the `params` of a call; empty without any."""
    meta = params.get("_meta")
    texts = meta.get(REFUSED_ARGUMENTS, []) if isinstance(meta, Mapping) else []
    return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
