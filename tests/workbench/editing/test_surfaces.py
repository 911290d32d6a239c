"""The surfaces of a review beside the calls that opened them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from edit_server import Place, answer
from quiet_context import QuietContext
from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import ProgramSettings

from workbench_handlers.editing.reviews.state_files import TTL_S
from workbench_handlers.editing.reviews.store import Decision
from workbench_handlers.editing.state import EditingState, ttl_seconds
from workbench_handlers.editing.surfaces.open_surfaces import Surfaces
from workbench_handlers.editing.tools import propose_and_review, review_status
from workbench_handlers.state import Workspace, workspace
from workbench_server.editing.models import ProposeAndReviewParams, ReviewStatusParams

pytestmark = pytest.mark.anyio
PATIENCE_S = 30.0


class Asked(QuietContext):
    """One request of a client that shows its question until `reply` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = {"elicitation": {}}
        self.is_asked = asyncio.Event()
        self.questions = 0
        self.reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        assert (method, key[:10]) == ("elicitation/create", "review-rv_"), params
        self.questions += 1
        self.is_asked.set()
        return await self.reply


class ShortCall(ToolCall):
    """A call of a client that waits a moment."""

    @property
    def max_wait_s(self) -> float:
        return 0.05


@asynccontextmanager
async def reviewing(place: Place) -> AsyncIterator[tuple[EditingState, Workspace, ProgramSettings]]:
    """Yield the state of a server, and close it."""
    state = EditingState(lambda: place.store)
    try:
        yield state, workspace([str(place.project)]), ProgramSettings()
    finally:
        await state.aclose()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  what happens there is on the disk
            await asyncio.sleep(0.01)


async def test_an_answer_after_the_call_ended_still_decides_and_the_question_is_not_repeated(place: Place) -> None:
    file = place.write("a.txt", b"two\n")
    params = ProposeAndReviewParams(path="a.txt", match_text="two", new_string="2")
    async with reviewing(place) as state:
        client, later = Asked(), Asked()
        first = await propose_and_review(params, ShortCall("a test", client, state))
        second = await propose_and_review(params, ShortCall("a test", later, state))
        assert (first.user_action, second.user_action, first.session_path) == (
            "PENDING",
            "PENDING",
            second.session_path,
        )
        assert "in the client or editor, or with" in first.message
        client.reply.set_result(answer("approve"))
        await until(lambda: file.read_bytes() == b"2\n")
        third = await propose_and_review(params, ShortCall("a test", later, state))

    assert third.user_action == "COMMITTED"
    assert (client.questions, later.questions) == (1, 0)


async def test_over_http_a_call_asks_again_because_the_client_of_the_open_question_may_be_gone(place: Place) -> None:
    file = place.write("a.txt", b"two\n")
    params = ProposeAndReviewParams(path="a.txt", match_text="two", new_string="2")
    async with reviewing(place) as state:
        gone, back = Asked(), Asked()
        gone.is_local = back.is_local = False
        await propose_and_review(params, ShortCall("a test", gone, state))
        back.reply.set_result(answer("approve"))
        result = await propose_and_review(params, ShortCall("a test", back, state))
        await until(lambda: file.read_bytes() == b"2\n")

    assert result.session_path == place.store.recent()[0].id
    assert (gone.questions, back.questions) == (1, 1)


async def test_a_waiting_status_returns_when_somebody_decides(place: Place) -> None:
    place.write("a.txt", b"two\n")
    async with reviewing(place) as state:
        params = ProposeAndReviewParams(path="a.txt", match_text="two", new_string="2")
        pending = await propose_and_review(params, ToolCall("a test", QuietContext(), state))
        asking = ReviewStatusParams(session_path=pending.session_path, wait_s=40)
        status = asyncio.ensure_future(review_status(asking, ToolCall("a test", QuietContext(), state)))
        await asyncio.sleep(0)
        assert not status.done()
        place.decide(pending.session_path, Decision("reject", "a test"))
        result = await asyncio.wait_for(status, PATIENCE_S)

    assert result.review is not None
    assert result.review.user_action == "REJECTED"


async def test_equal_proposals_at_once_become_one_review(place: Place) -> None:
    place.write("a.txt", b"two\n")
    params = ProposeAndReviewParams(path="a.txt", match_text="two", new_string="2")
    async with reviewing(place) as one, reviewing(place) as two:
        calls = [propose_and_review(params, ToolCall("a test", QuietContext(), state)) for state in (one, two) * 10]
        results = await asyncio.gather(*calls)

    assert len({result.session_path for result in results}) == 1
    assert len(place.store.pending()) == 1


async def test_the_page_of_a_server_that_cannot_listen_ends_the_question_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("workbench_handlers.editing.surfaces.pages.serve_pages", refuse)
    surfaces = Surfaces(place.store)

    for _ in range(2):
        with pytest.raises(ToolError, match="Too many open files"):
            await surfaces.review_pages()

    await surfaces.aclose()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("90m", 5_400), ("24h", 86_400), (" 7d ", 604_800), ("1s", 1)],
        *[(text, TTL_S) for text in ("", "0s", "24", "31d", "-1h", "9" * 30 + "d", "\u0661h")],
    ],
)
def test_a_duration_is_read_and_an_invalid_one_is_replaced(text: str, seconds: float) -> None:
    assert ttl_seconds(text) == seconds


def test_a_server_that_proposes_nothing_creates_no_state(place: Place) -> None:
    EditingState(lambda: place.store)
    assert not place.state.exists()
