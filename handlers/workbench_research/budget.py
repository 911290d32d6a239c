"""Limits of the cost of questions, in US dollars: of a call, a day and a project."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from toolmason_runtime import ToolError

from workbench_research.backends.models import Model
from workbench_research.backends.question import Usage
from workbench_research.local_store import LocalStore, StoreError

MAX_COST: Final = "WORKBENCH_RESEARCH_MAX_COST"
"""US dollars that one call may cost."""
MAX_COST_DAY: Final = "WORKBENCH_RESEARCH_MAX_COST_DAY"
"""US dollars that all questions of this user may cost in a day (UTC)."""
MAX_COST_PROJECT: Final = "WORKBENCH_RESEARCH_MAX_COST_PROJECT"
"""US dollars that all questions about one project may cost."""
EXPECTED_TOKENS: Final = 2_000
"""Tokens of an answer for the estimate before it."""


@dataclass(slots=True)
class Spending:
    """What one call has cost so far."""

    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """US dollars; None: no limit."""

    call: float | None = None
    day: float | None = None
    project: float | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Limits:
        """Read the settings.

        Raises:
            ToolError: one is invalid. Without it, a question could cost more than the user wants.
        """
        return cls(*(_dollars(environ, name) for name in (MAX_COST, MAX_COST_DAY, MAX_COST_PROJECT)))


def estimate(model: Model, tokens: int) -> float | None:
    """Return the highest likely price of a question with so many tokens, none of them cached; None if not known."""
    return model.cost(Usage(sent=tokens, cached_now=tokens, written=EXPECTED_TOKENS))


def reserve(
    limits: Limits, store: LocalStore | None, project: str, price: float | None, spending: Spending, *, is_free: bool
) -> int:
    """Check a question against the limits, and count its estimated price; return the number of the entry. It blocks.

    Raises:
        ToolError: QUOTA_EXCEEDED if it would exceed a limit, or its price is not known although there are limits.
    """
    is_limited = limits != Limits()
    if price is None:
        if is_limited and not is_free:
            raise _refusal("the price of this model is not known, so that a maximum cost cannot be kept", "model")
        price = 0.0
    if limits.call is not None and spending.dollars + price > limits.call:
        cost = f"the call would cost about ${spending.dollars + price:.2f}"
        raise _refusal(f"{cost}, more than the ${limits.call:g} of {MAX_COST}: name fewer files", MAX_COST)
    if store is None:
        if limits.day is not None or limits.project is not None:
            raise _refusal("the cost so far is not known, because there is no state directory", "store")
        return 0
    try:
        day, total, entry = store.reserve(today(), project, price, limits.day, limits.project)
    except StoreError as error:
        if limits.day is not None or limits.project is not None:
            raise _refusal(f"the cost so far cannot be read: {error}", "store") from None
        return 0
    if entry:
        return entry
    if limits.day is not None and day + price > limits.day:
        cost = f"${day:.2f} of the ${limits.day:g} of {MAX_COST_DAY} are spent today (UTC)"
        raise _refusal(f"{cost}, and the question would cost about ${price:.2f}", MAX_COST_DAY)
    cost = f"${total:.2f} of the ${limits.project:g} of {MAX_COST_PROJECT} are spent for this project"
    raise _refusal(f"{cost}, and the question would cost about ${price:.2f}", MAX_COST_PROJECT)


def today() -> str:
    """Return the date in UTC."""
    return datetime.now(UTC).date().isoformat()


def _refusal(text: str, setting: str) -> ToolError:
    message = f"nothing was sent: {text}. `dry_run` lists the files; only the user can raise the limit"
    return ToolError(message, code="QUOTA_EXCEEDED", details={"reason": "BUDGET", "setting": setting})


def _dollars(environ: Mapping[str, str], name: str) -> float | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    try:
        number = float(text.removeprefix("$"))
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ToolError(
            f"{name} must be a number of US dollars, such as 0.50", code="INTERNAL", details={"setting": name}
        )
    return number
