"""The served core: from a request to its result, in plain wire dicts, whatever carries them.

Nothing here or on the way to a list or a search imports pydantic, the SDK or a handler: they come in with the first
call of a tool, one category at a time.
"""

from __future__ import annotations

import importlib
import json
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.discovery import style_for
from toolmason_runtime.discovery.answers import failure, noted
from toolmason_runtime.programs.settings import ProgramSettings, commands_for
from toolmason_runtime.protocol.arguments import ArgumentReader
from toolmason_runtime.protocol.binding import Binding
from toolmason_runtime.protocol.call import Context, InputRequired, ServerInfo, ToolCall
from toolmason_runtime.protocol.catalogue import Catalogue, ServerEntry, ToolEntry, WireTool
from toolmason_runtime.protocol.errors import INTERNAL, INVALID_ARGUMENT, MethodError, ToolError
from toolmason_runtime.protocol.fetch_chunk import FETCH_CHUNK, FETCH_CHUNK_ENTRY
from toolmason_runtime.protocol.json_boundary import refused_arguments
from toolmason_runtime.protocol.registry import deprecation_text
from toolmason_runtime.protocol.results import ResultWriter, WireResult, encodable
from toolmason_runtime.protocol.selection import Selection, is_enabled
from toolmason_runtime.protocol.wording import disabled
from toolmason_runtime.server.lifespan import Lifespan, Options

if TYPE_CHECKING:
    from toolmason_runtime.chunks.store import ChunkStore

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool whose category has been imported."""

    binding: Binding
    arguments: ArgumentReader
    results: ResultWriter


class Dispatcher:
    """Answers `tools/list` and `tools/call` of one server.

    `selection` is what of the catalogue is shown and how (None: as the manifest says), `load_index` reads
    `search_index.json`, `options` are the manifest's options for its lifespan, and `state` stands beside what that
    yields, for those who embed the server. `commands` says how programs are run, where tools run any (None: as the
    environment says).

    Raises:
        ValueError: `selection` names a toolset that is no category, or the policy for programs cannot be used.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        selection: Selection | None = None,
        load_index: Callable[[], dict[str, Any]],
        state: Sequence[object] = (),
        options: Options | None = None,
        commands: ProgramSettings | None = None,
    ) -> None:
        self._commands = commands or commands_for(catalogue)
        if self._commands is not None:
            catalogue = self._commands.allowed(catalogue)
            state = (*state, self._commands)
        self._catalogue = catalogue
        self._style = style_for(catalogue, selection or Selection(catalogue["discovery"]["style"]), load_index)
        self._state = (*state, ServerInfo(catalogue["server"]["name"], catalogue["server"]["version"]))
        self._lifespan = Lifespan(catalogue["server"]["lifespan"], options or {})
        self._tools: dict[str, _Tool] = {}

    @property
    def server(self) -> ServerEntry:
        """What the catalogue says of the server itself."""
        return self._catalogue["server"]

    @cached_property
    def listed(self) -> Mapping[str, WireTool]:
        """What `tools/list` gives, all pages, by name. It is the same while the process lives."""
        return {tool["name"]: tool for tool in self._style.listed()}

    async def dispatch(self, method: str, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Give the result of one request.

        An answer the client has to give first is a result too: `resultType` is then `input_required`.

        Raises:
            MethodError: the request is refused.
        """
        if method == "tools/list":
            return self._page(params.get("cursor"))
        if method == "tools/call":
            name, arguments = _call_params(params)
            problems = refused_arguments(params)
            work = self._refused(name, problems) if problems else self._call(name, arguments, context)
            answer: WireResult = encodable(await work)
            return answer
        raise MethodError(METHOD_NOT_FOUND, "Method not found", method)

    async def aclose(self) -> None:
        """Close what the lifespan holds, and free all long texts."""
        await self._lifespan.aclose()
        if "_chunks" in self.__dict__:
            await self._chunks.aclose()

    def _page(self, cursor: Any) -> dict[str, Any]:
        tools, size = list(self.listed.values()), self.server["page_size"]
        start = 0 if cursor is None else _position(cursor)
        if cursor is not None and (start % size or not 0 < start < len(tools)):
            raise MethodError(INVALID_PARAMS, "Invalid cursor")
        page: dict[str, Any] = {"tools": tools[start : start + size]}
        if start + size < len(tools):
            page["nextCursor"] = _cursor(start + size)
        return page

    async def _call(self, name: str, arguments: dict[str, Any], context: Context) -> WireResult:
        async def run(name: str, arguments: dict[str, Any]) -> WireResult:
            return await self._run(name, arguments, context)

        try:
            if self._style.handles(name):
                return await _answered(name, self._style.call(name, arguments, run))
            return await run(self._direct(name), arguments)
        except InputRequired as asked:
            return {"resultType": "input_required", "inputRequests": asked.requests}

    async def _refused(self, name: str, problems: Sequence[str]) -> WireResult:
        """Answer a call without its arguments, which the JSON boundary refused for these reasons."""
        if self._style.handles(name):
            return failure("\n".join(problems))
        known = self._direct(name)
        entry = self._catalogue["tools"][self._names.get(known, known)]
        if not is_enabled(entry):
            return failure(disabled(name))
        example = [f"Example: {example['invocation']}" for example in entry["examples"][:1]]
        error = ToolError("\n".join([*problems, *example]), code=INVALID_ARGUMENT)
        return _failure(error, as_json=self._has_json_errors(entry))

    def _has_json_errors(self, entry: ToolEntry) -> bool:
        return self._catalogue["categories"][entry["category"]].get("errors") == "json"

    def _direct(self, name: str) -> str:
        """Give the tool that `name`, sent by a client, stands for; a disabled one will say so itself."""
        known = self._names.get(name, name)
        if known == FETCH_CHUNK or self._style.permits(known):
            return known
        index = self._style.index
        # A tool that is only hidden has no names to be mistaken for: the text says what runs it.
        data = None if index.get(name) else {"nearest": index.nearest(name)}
        raise MethodError(INVALID_PARAMS, self._style.refusal(name), data)

    @cached_property
    def _names(self) -> dict[str, str]:
        """The tools by the names they once had."""
        tools = self._catalogue["tools"]
        return {alias: name for name, entry in tools.items() for alias in entry.get("aliases", ())}

    async def _run(self, name: str, arguments: dict[str, Any], context: Context) -> WireResult:
        """Carry out a real tool: the one path for direct and indirect calls."""
        is_built_in = name == FETCH_CHUNK
        entry = FETCH_CHUNK_ENTRY if is_built_in else self._catalogue["tools"][self._names.get(name, name)]
        as_json = is_built_in or self._has_json_errors(entry)
        if not is_enabled(entry):
            return failure(disabled(name))
        work = self._carried_out(name, entry, arguments, context, as_json=as_json)
        return noted(await _answered(name, work, as_json=as_json), _deprecation(entry))

    async def _carried_out(
        self, name: str, entry: ToolEntry, arguments: dict[str, Any], context: Context, *, as_json: bool
    ) -> WireResult:
        tool = self._tools.get(name) or self._imported(name, entry)
        read = tool.arguments.read(arguments)
        # A failure carries the notes as well: an ignored argument is often its cause.
        return noted(await _answered(name, self._handled(tool, name, read.value, context), as_json=as_json), read.notes)

    async def _handled(self, tool: _Tool, name: str, arguments: Any, context: Context) -> WireResult:
        call = ToolCall(name, context, (*self._state, self._chunks, *await self._lifespan.state()))
        return tool.results.wire(await tool.binding.result(arguments, call))

    @cached_property
    def _chunks(self) -> ChunkStore:
        """The long texts of this server."""
        from toolmason_runtime.chunks.store import ChunkStore

        return ChunkStore(self.server.get("chunk_store", ""), server=self.server["name"])

    def _imported(self, name: str, entry: ToolEntry) -> _Tool:
        binding = self._binding(name, entry)
        reader = ArgumentReader(entry, binding.params)
        schema = entry.get("result_schema", entry["tool"].get("outputSchema"))
        self._tools[name] = _Tool(binding, reader, ResultWriter(schema))
        return self._tools[name]

    def _binding(self, name: str, entry: ToolEntry) -> Binding:
        if name == FETCH_CHUNK:
            from toolmason_runtime.chunks.fetch import BINDING

            return BINDING
        module = self._catalogue["categories"][entry["category"]]["module"]
        bindings: Mapping[str, Binding] = importlib.import_module(
            f"{self.server['package']}.{module}.bindings"
        ).BINDINGS
        return bindings[name]


async def _answered(name: str, work: Awaitable[WireResult], *, as_json: bool = False) -> WireResult:
    """Turn a failure into a result that says no more than the model should know.

    Raises:
        MethodError: the request itself was refused.
        InputRequired: the client has to answer first.
    """
    try:
        return await work
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001  a handler may fail in any way
        return _failure(_explained(name, error), as_json=as_json)


def _explained(name: str, error: BaseException) -> ToolError:
    """Give the result for a failure; what several tasks raised together counts as what each of them raised."""
    raised = list(_leaves(error))
    for refusal in (each for each in raised if isinstance(each, MethodError)):
        raise refusal
    if asked := [each for each in raised if isinstance(each, InputRequired)]:
        raise InputRequired({key: request for each in asked for key, request in each.requests.items()})
    said = [each for each in raised if isinstance(each, ToolError)]
    if len(said) == len(raised):
        return said[0] if len(said) == 1 else ToolError("\n".join(each.message for each in said), code=said[0].code)
    if not isinstance(error, Exception):
        raise error
    _log.error("tool %s failed", name, exc_info=error)
    return ToolError(f"Error executing tool {name}", code=INTERNAL)


_ADVICE: Final = ": a mistake of the server, whose log says more. Report it if it happens again"


def _failure(error: ToolError, *, as_json: bool) -> WireResult:
    text = error.message
    if as_json:
        advice = _ADVICE if error.code == INTERNAL and not error.details else ""
        told = {"code": error.code, "message": error.message + advice}
        text = json.dumps({"error": told | ({"details": error.details} if error.details else {})}, ensure_ascii=False)
    return failure(text)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _call_params(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict | None):
        raise MethodError(INVALID_PARAMS, "tools/call takes a name and an object of arguments")
    return name, arguments or {}


def _deprecation(entry: ToolEntry) -> list[str]:
    if "deprecated" not in entry:
        return []
    return [f"Note: {entry['tool']['name']} is deprecated: {deprecation_text(entry['deprecated'])}"]


def _cursor(start: int) -> str:
    return urlsafe_b64encode(f"tools:{start}".encode()).decode()


def _position(cursor: Any) -> int:
    """Give the place a cursor stands for.

    Raises:
        MethodError: it is none of ours.
    """
    try:
        kind, _, start = urlsafe_b64decode(cursor).decode().partition(":")
        if kind == "tools" and _cursor(int(start)) == cursor:
            return int(start)
    except (TypeError, ValueError):
        pass
    raise MethodError(INVALID_PARAMS, "Invalid cursor")
