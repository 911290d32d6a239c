"""Match regular expressions in bounded time.

Python's `re` can take exponential time, blocks all other code meanwhile, and a model chooses the text. Rust's `regex`,
part of pydantic-core, takes linear time; it matches every pattern that means the same in its dialect. The package
`regex` matches the other patterns, with a time limit.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from regex import Pattern

TIMEOUT_S: Final = 0.5
"""Seconds for all patterns of one call together, except those that Rust's engine matches."""
MAX_STEPS: Final = 20_000_000
"""Maximum size of a pattern times length of a text for Rust's engine: about 0.2 s in the worst case."""
MAX_COPIES: Final = 200_000
"""Maximum size of a pattern with its counted repeats, whose content the package `regex` copies when it compiles."""

_PIECE: Final = re.compile(
    r"""
      \\. | \[ \^?+\]?+ (?:\\.?|[^\]\\])*+ (?:\]|\Z) | \(\?\#[^)]*+ (?:\)|\Z)  # up to the end
    | (?P<open> \( ) | (?P<close> \) )
    | \{ (?P<least>\d*+) ,?+ (?P<most>\d*+) \}
    | .
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_REGEX_SYNTAX: Final = re.compile(
    r"""
      \\N\{[^}]*+(?:\}|\Z) | \\. | \(\?\#[^)]*+(?:\)|\Z)
    | \{(?!\})\d*+,?+\d*+\}  # escape, comment, numeric repeat: equal in both
    | \[ (?P<set> \^?+\]?+ (?:\\.?|[^\]\\])*+ (?:\]|\Z) )  # without its bracket, up to the end
    | (?P<brace> \{ )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

_BRACKET: Final = r"\[:"
_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


class PatternTimeoutError(Exception):
    """`text` could not be matched in time. Not a `ValueError`, so that validation stops at once."""

    def __init__(self, pattern: str, text: str) -> None:
        super().__init__(f"could not be matched with {pattern} in time; send a shorter value")
        self.pattern = pattern
        self.text = text


class _TimeLimit:
    """The context of `time_limit`. A class, because each call enters it, and a generator takes longer."""

    __slots__ = ("_seconds", "_token")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._token = _deadline.set(time.monotonic() + self._seconds)

    def __exit__(self, *_: object) -> None:
        _deadline.reset(self._token)


def time_limit(seconds: float = TIMEOUT_S) -> AbstractContextManager[None]:
    """Limit the total time of all matches in the context. Outside of it, each match has its own limit."""
    return _TimeLimit(seconds)


def is_found(pattern: str, text: str) -> bool:
    """Return whether `pattern` is found in `text`, as Python's `re.search` would.

    Raises:
        PatternTimeoutError: the match took too long.
        ValueError: neither engine accepts the pattern.
    """
    return _matcher(pattern).is_found(text)


def is_linear(pattern: str) -> bool:
    """Return whether Rust's engine can match `pattern`, at least in ASCII texts."""
    return _matcher(pattern).in_ascii is not None


def compile_linear(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern in Rust's dialect to a function that returns whether it is found in a text.

    Raises:
        pydantic_core.SchemaError: Rust's engine does not accept it.
    """
    from pydantic_core import SchemaValidator, core_schema

    schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True)
    return SchemaValidator(schema).isinstance_python


@dataclass(frozen=True, slots=True)
class _Linear:
    is_found: Callable[[str], bool]
    size: int


class _Matcher:
    """Matches one pattern in Python's dialect; each engine is compiled at its first use."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def is_found(self, text: str) -> bool:
        linear = self.in_ascii if text.isascii() else self.in_any_text
        if linear is not None and linear.size * len(text) <= MAX_STEPS:
            return linear.is_found(text)
        deadline = _deadline.get()
        remaining_s = TIMEOUT_S if deadline is None else deadline - time.monotonic()
        if remaining_s > 0:
            try:
                return self.timed.search(text, timeout=remaining_s) is not None
            except TimeoutError:
                pass
        raise PatternTimeoutError(self._pattern, text)

    @cached_property
    def in_ascii(self) -> _Linear | None:
        return self._linear(is_ascii=True)

    @cached_property
    def in_any_text(self) -> _Linear | None:
        return self._linear(is_ascii=False)

    @cached_property
    def timed(self) -> Pattern[str]:
        import regex  # takes 50 ms; few patterns need it

        try:
            _check_copies(self._pattern)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                re.compile(self._pattern)  # `regex` accepts more, such as `[\w-z]`
            return regex.compile(_for_regex(self._pattern))
        except (ValueError, re.error, regex.error, OverflowError, RecursionError, MemoryError) as error:
            raise ValueError(f"`{self._pattern}` cannot be matched with a time limit: {error}") from error

    def _linear(self, *, is_ascii: bool) -> _Linear | None:
        from pydantic_core import SchemaError
        from toolmason_runtime.shared.values.rust_pattern import translate

        try:
            rust = translate(self._pattern, is_ascii=is_ascii)
            return _Linear(compile_linear(rust.text), rust.size)
        except (ValueError, SchemaError):  # includes a repeat with more digits than `int` parses
            return None


def _check_copies(pattern: str) -> None:
    """Raise a ValueError if a pattern is too large to be compiled."""
    if _copies(pattern) > MAX_COPIES:
        raise ValueError("its repeats are too large")


def _copies(pattern: str) -> int:
    """Return at least the number of characters, classes and escapes with counted repeats: 6 for `(ab){3}`.

    Raises:
        ValueError: a count has more digits than `int` parses.
    """
    outer: list[int] = []
    size = last = 0
    for piece in _PIECE.finditer(pattern):
        if piece["open"]:
            outer.append(size)
            size = last = 0
        elif piece["close"]:
            last, size = size, size + (outer.pop() if outer else 0)
        elif count := piece["most"] or piece["least"]:
            size += last * (max(int(count), 1) - 1)
            last *= max(int(count), 1)
        else:
            last = 1
            size += 1
    return size


def _for_regex(pattern: str) -> str:
    """Escape characters that are literal in Python's `re` and syntax of the `regex` package.

    These are `{` of a fuzzy match, as in `a{e<=1}`, and `[` of a POSIX class, as in `[[:alpha:]]`.
    """
    return _REGEX_SYNTAX.sub(_escape, pattern)


def _escape(match: re.Match[str]) -> str:
    if match["set"]:
        return f"[{match['set'].replace('[:', _BRACKET)}"
    return r"\{" if match["brace"] else match[0]


@lru_cache(maxsize=1_000)
def _matcher(pattern: str) -> _Matcher:
    return _Matcher(pattern)
