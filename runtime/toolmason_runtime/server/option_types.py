"""The values of typed options. Imports nothing: the boot phase checks the environment with it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

TRUE: Final = ("true", "yes", "on", "1")
FALSE: Final = ("false", "no", "off", "0")
NOT_FINITE: Final = ("inf", "infinity", "nan")


def parse_value(kind: str, text: str) -> str | int | float | bool:
    """Return a text as a value of the type `kind`: `string`, `integer`, `number` or `boolean`.

    Raises:
        ValueError: it is not one. The message describes the expected value, without the text.
    """
    if kind == "boolean":
        if text.lower() in TRUE:
            return True
        if text.lower() in FALSE:
            return False
        raise ValueError("expected true or false")
    if kind == "string":
        return text
    try:
        if kind == "integer":
            return int(text)
        if text.lower().lstrip("+-") not in NOT_FINITE:
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"expected {'an integer' if kind == 'integer' else 'a number'}")
