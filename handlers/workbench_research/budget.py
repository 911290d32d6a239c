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
"""Tokens of an answer for the estimate before it. A limit of the call also limits the answer: `max_output`."""

_NO_STORE: Final = "the cost so far is not known, because there is no state directory: set WORKBENCH_STATE"
_UNKNOWN_PRICE: Final = (
    "the price of this model is not known, so limits cannot be checked: choose one with a known price"
)


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
    """Return the likely price of a question with so many tokens, none of them cached; None if not known."""
    return model.cost(Usage(sent=tokens, cached_now=tokens, written=EXPECTED_TOKENS))


def max_output(model: Model, tokens: int, limits: Limits, spending: Spending) -> int:
    """Return the tokens of an answer that the limit of a call allows; 0 if there is no limit."""
    price = model.cost(Usage(sent=tokens, cached_now=tokens))
    of_token = (model.cost(Usage(written=1_000_000)) or 0.0) / 1_000_000
    if limits.call is None or price is None or not of_token:
        return 0
    allowed = max(1, int((limits.call - spending.dollars - price) / of_token))
    return min(allowed, model.output) if model.output else allowed


def check_model(limits: Limits, model: Model, spending: Spending, *, is_free: bool) -> None:
    """Check that the price of a model is known if there are limits.

    Raises:
        ToolError: QUOTA_EXCEEDED, it is not.
    """
    if limits != Limits() and not is_free and model.prices is None:
        raise _refusal(_UNKNOWN_PRICE, "model", spending)


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
            raise _refusal(_UNKNOWN_PRICE, "model", spending)
        price = 0.0
    if limits.call is not None and spending.dollars + price > limits.call:
        cost = f"the call would cost about ${spending.dollars + price:.2f}"
        text = f"{cost}, more than the ${limits.call:g} of {MAX_COST}: name fewer files"
        raise _refusal(text, MAX_COST, spending)
    if store is None:
        if limits.day is not None or limits.project is not None:
            raise _refusal(_NO_STORE, "store", spending)
        return 0
    try:
        day, total, entry = store.reserve(today(), project, price, limits.day, limits.project)
    except StoreError as error:
        if limits.day is not None or limits.project is not None:
            raise _refusal(f"the cost so far cannot be read: {error}", "store", spending) from None
        return 0
    if entry:
        return entry
    if limits.day is not None and day + price > limits.day:
        cost = f"${day:.2f} of the ${limits.day:g} of {MAX_COST_DAY} are spent today (UTC)"
        raise _refusal(f"{cost}, and the question would cost about ${price:.2f}", MAX_COST_DAY, spending)
    cost = f"${total:.2f} of the ${limits.project:g} of {MAX_COST_PROJECT} are spent for this project"
    raise _refusal(f"{cost}, and the question would cost about ${price:.2f}", MAX_COST_PROJECT, spending)


def today() -> str:
    """Return the date in UTC."""
    return datetime.now(UTC).date().isoformat()


def _refusal(text: str, setting: str, spending: Spending) -> ToolError:
    start = f"nothing more was sent after ${spending.dollars:.4f}" if spending.dollars else "nothing was sent"
    step = ". `dry_run` lists the files; only the user can raise the limit" if setting.startswith(MAX_COST) else ""
    message = f"{start}: {text}{step}"
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
