"""Programs that call the tools of the sample server, and the clients that answer their questions."""

# ruff: noqa: ARG002  a client is told what it may not need

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from command_sample import Client, Sample, text_of
from toolmason_runtime.calls.call import InputRequired
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.selection import Selection


class Asker(Client):
    """A client of 2025-11-25: it answers in place, and keeps what it is asked and the progress it gets."""

    def __init__(self, answer: str | None = None, capabilities: Mapping[str, Any] | None = None) -> None:
        super().__init__(answer, capabilities)
        self.shown: list[tuple[float, float | None, str | None]] = []

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.shown.append((progress, total, message))

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        assert method == "elicitation/create"
        self.asked.append(params["message"])
        return {"action": self._answer}


class Modern(Asker):
    """A client of 2026-07-28: it sends the call again with its answers."""

    is_modern = True

    def __init__(self, answers: Mapping[str, str] | None = None) -> None:
        super().__init__("accept")
        self._answers = {key: {"action": action} for key, action in (answers or {}).items()}
        self.answered = tuple(self._answers)  # type: ignore[assignment]

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if key in self._answers:
            return self._answers[key]
        raise InputRequired({key: {"method": method, "params": dict(params)}})


class Desk:
    """Runs programs in new servers, as after a restart, unless `dispatcher` is given."""

    def __init__(self, sample: Sample, file: Path) -> None:
        self.sample = sample
        self.file = file

    def dispatcher(self, commands: ProgramSettings | None = None) -> Dispatcher:
        catalogue = self.sample.catalogue
        catalogue = {**catalogue, "discovery": {**catalogue["discovery"], "split_calls": True}}
        selection = Selection("code", all_tools=True)
        return Dispatcher(catalogue, selection=selection, load_index=self.sample.load_index, commands=commands)

    async def answer(
        self,
        code: str,
        client: Client | None = None,
        *,
        meta: str = "run",
        dispatcher: Dispatcher | None = None,
        commands: ProgramSettings | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Return the result on the wire. `FILE` in the code is the file of the record."""
        code = code.replace("FILE", repr(str(self.file)))
        sent = {**({"code": code} if code else {}), **arguments}
        server = dispatcher or self.dispatcher(commands)
        return await self.sample.call(server, meta, client or Asker(), **sent)

    async def run(self, code: str, client: Client | None = None, **arguments: Any) -> str:
        """Return the answer of a program that succeeds."""
        result = await self.answer(code, client, **arguments)
        assert not result.get("isError"), text_of(result)
        return text_of(result)

    async def failure(self, code: str, client: Client | None = None, **arguments: Any) -> str:
        """Return the answer of a program that fails."""
        result = await self.answer(code, client, **arguments)
        assert result.get("isError"), text_of(result)
        return text_of(result)

    def record(self) -> list[str]:
        """What the desk was really asked for, in order."""
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
