"""What templates see of a server besides its facts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from toolmason.model.server import Server
from toolmason.render.view import ServerView

TEMPLATES = Path(str(files("toolmason_templates")))
QUESTIONS = sorted(name for name, value in vars(ServerView).items() if isinstance(value, property))


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_property_of_the_view_is_used_by_a_template_and_not_in_the_model(question: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.jinja")]

    assert any(f"server.{question}" in text for text in texts)
    assert not hasattr(Server, question)
