"""A small project, a model that says what it is told to say, and each result held against its schema."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from listed_schemas import assert_fits

from workbench_research.backends.question import Answer
from workbench_server.catalogue import CATALOGUE

APP = "import store\n\n\ndef main():\n    return store.load('x')\n\n\nif __name__ == '__main__':\n    main()\n"
STORE = "class StoreError(Exception):\n    pass\n\n\ndef load(key):\n    raise StoreError(key)\n"


@dataclass
class Tools:
    """The tools over one project, and the model they ask."""

    root: Path
    said: str | dict[str, Any] = ""
    """What the model answers; an object as JSON."""
    files: tuple[str, ...] = ("src/app.py",)
    tool_calls: int = 1
    warnings: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)

    async def ask(self, prompt: str) -> Answer:
        self.asked.append(prompt)
        text = self.said if isinstance(self.said, str) else json.dumps(self.said)
        return Answer(
            text=text,
            model="gemini-test",
            files=self.files,
            tokens=1234,
            tool_calls=self.tool_calls,
            latency_ms=56,
            warnings=self.warnings,
        )

    def run(self, tool: str, /, said: str | dict[str, Any] = "", **arguments: Any) -> dict[str, Any]:
        """Call a tool as the server does: arguments through their model, the result held against its schema."""
        self.said = said
        models = importlib.import_module(f"workbench_server.{CATALOGUE['tools'][tool]['category']}.models")
        name = "".join(word.capitalize() for word in tool.split("_"))
        params = getattr(models, f"{name}Params")(**arguments)
        module = importlib.import_module(f"workbench_research.analysis.{tool}")

        async def ask(prompt: str) -> Answer:
            return await self.ask(prompt)

        result: dict[str, Any] = asyncio.run(module.run(params, ask, self.root))
        assert_fits(tool, result)
        declared = getattr(models, f"{name}Result").model_validate(result)
        assert declared.model_dump(by_alias=True, exclude_unset=True) == result, "a member that is not declared"
        return result

    @property
    def prompt(self) -> str:
        """The last thing the model was asked."""
        return self.asked[-1]


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    root = tmp_path / "proj"
    for name, text in {
        "src/app.py": APP,
        "src/store.py": STORE,
        "tests/test_app.py": "def test():\n    pass\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "proj-evil").mkdir()
    (tmp_path / "proj-evil" / "secret.txt").write_text("the secret outside", encoding="utf-8")
    yield Tools(root)
    assert (root / "src/app.py").read_text(encoding="utf-8") == APP
