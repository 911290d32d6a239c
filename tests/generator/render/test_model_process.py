"""Models from another process are those of this one, and the process does not outlive its use."""

from __future__ import annotations

from typing import Any

import pytest

from toolmason.render.model_process import _PendingModels, start_models
from toolmason.render.pydantic_models import models

SOURCES: dict[str, dict[str, Any]] = {
    "books": {"$defs": {"Book": {"type": "object", "properties": {"title": {"type": "string", "pattern": "ß"}}}}},
    "loans": {
        "$defs": {
            "Book": {"type": "object"},
            "Loan": {"properties": {"a": {"$ref": "#/$defs/Book"}}},
        },
        "x-imported": {"Book": "library.types"},
    },
    "none": {"$defs": {}},
}


@pytest.mark.parametrize("concurrent", [True, False])
def test_models_equal_those_of_one_module_after_another(concurrent: bool) -> None:
    with start_models(SOURCES, {"kept": "class Kept: ...\n"}, concurrent=concurrent) as made:
        assert dict(made) == {"kept": "class Kept: ...\n", **{key: models(source) for key, source in SOURCES.items()}}
        assert made.get("absent") is None
        assert isinstance(made, _PendingModels) == concurrent


def test_known_models_do_not_wait_and_the_process_ends_with_the_context() -> None:
    with start_models(SOURCES, {"kept": "class Kept: ...\n"}, concurrent=True) as made:
        assert isinstance(made, _PendingModels)
        assert made["kept"] == "class Kept: ...\n"
        assert len(made) == 4
        assert "_generated" not in vars(made)
        process = made._process
    assert process.poll() is not None


def test_a_failure_of_the_process_has_its_traceback() -> None:
    sources = {"books": {"$defs": {"Book": {"$ref": "file:///etc/passwd"}}}}
    with (
        start_models(sources, {}, concurrent=True) as made,
        pytest.raises(RuntimeError, match="leads to another document"),
    ):
        made["books"]


def test_the_process_ends_if_its_user_fails() -> None:
    context = start_models(SOURCES, {}, concurrent=True)
    made = context.__enter__()
    assert isinstance(made, _PendingModels)
    assert not context.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert made._process.poll() is not None
