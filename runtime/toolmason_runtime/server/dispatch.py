"""Dispatch requests to tools, prompts and resources, and return results as wire dicts, independent of the transport.

Listing and searching import neither pydantic nor the SDK nor a handler. The first call of a tool imports them, one
category at a time.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.audit import events
from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.calls.binding import Binding, exclusive_import
from toolmason_runtime.calls.call import Context, InputRequired, Method, ServerInfo, ToolCall
from toolmason_runtime.calls.dispatcher import WatchedTasks
from toolmason_runtime.calls.outcome import note_error
from toolmason_runtime.calls.secrets import mask
from toolmason_runtime.discovery import Style, style_for
from toolmason_runtime.discovery.results import error_result, with_notes
from toolmason_runtime.programs.settings import ProgramSettings, load_program_settings
from toolmason_runtime.server.failures import to_tool_error
from toolmason_runtime.server.lifespan import Lifespan
from toolmason_runtime.server.preparation import Preparation
from toolmason_runtime.shared.built_in import BUILT_IN, bindings_module, is_built_in
from toolmason_runtime.shared.catalogue import Catalogue, ServerEntry, ToolEntry, WireTool, has_programs
from toolmason_runtime.shared.current_client import current_client, enter_client, leave_client
from toolmason_runtime.shared.errors import (
    INTERNAL,
    INVALID_ARGUMENT,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MethodError,
    ToolError,
)
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK_ENTRY
from toolmason_runtime.shared.search.rankers import lazy_ranker
from toolmason_runtime.shared.selection import Selection, is_enabled, why_disabled
from toolmason_runtime.shared.shown_names import ShownNames, bare_name, is_prefixed, meta_name
from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.shared.values.wording import call_json, call_text, deprecation_text
from toolmason_runtime.wire.end_line import with_end_line
from toolmason_runtime.wire.json_boundary import refused_arguments
from toolmason_runtime.wire.paging import page_of
from toolmason_runtime.wire.parts import in_turns, is_ascii, is_large
from toolmason_runtime.wire.requests import TASK_METHODS, declares_tasks
from toolmason_runtime.wire.resource_updates import ResourceUpdates
from toolmason_runtime.wire.results import ResultWriter, WireResult, encodable

if TYPE_CHECKING:
    from toolmason_runtime.chunks.store import ChunkStore
    from toolmason_runtime.code_mode.engine import Programs
    from toolmason_runtime.code_mode.suspended import SuspendedPrograms
    from toolmason_runtime.kinds import KindState
    from toolmason_runtime.server.apps import Apps
    from toolmason_runtime.tasks.engine import Tasks


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool whose category has been imported."""

    binding: Binding
    arguments: ArgumentValidator
    results: ResultWriter


@dataclass(slots=True)
class _Runner:
    """What the meta-tools run in one request: tools, and programs that call them."""

    dispatcher: Dispatcher
    context: Context

    def __call__(self, name: str, arguments: dict[str, Any]) -> Coroutine[Any, Any, WireResult]:
        """Run a tool."""
        return self.dispatcher.run_tool(name, arguments, self.context)

    async def run_program(self, code: str, *, resume: str, timeout_s: int, meta: str, only_reads: bool) -> WireResult:
        """See `discovery.code.ProgramRunner`."""
        return await self.dispatcher.run_program(
            code, self.context, resume=resume, timeout_s=timeout_s, meta=meta, only_reads=only_reads
        )


class Dispatcher:
    """Answers the requests for tools, prompts and resources of one server.

    Args:
        catalogue: the tools.
        selection: the discovery style and the served tools; None means the manifest's style and the tier `core`.
        load_index: returns the content of `search_index.json`.
        load_postings: returns the content of `semantic.postings`; None if there is no file.
        state: objects that every call gets in addition to those of the lifespan, for programs that embed the server.
        options: the options of the server, for the lifespan.
        load_options: makes the object that the lifespan receives from `options`; None if it is that object.
        commands: policy and executor of programs; None means those of the environment.
        prepare_after_s: seconds after a search until its first result is prepared, in a thread; None for never.
        prepare_modules: modules that the transport imports at the first call.

    Raises:
        ValueError: a toolset of `selection` is not a category, or the policy is invalid.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        selection: Selection | None = None,
        load_index: Callable[[], dict[str, Any]],
        load_postings: Callable[[], bytes] | None = None,
        state: Sequence[object] = (),
        options: object = None,
        load_options: Callable[[Any], object] | None = None,
        commands: ProgramSettings | None = None,
        prepare_after_s: float | None = None,
        prepare_modules: Sequence[str] = (),
    ) -> None:
        self._commands = commands or load_program_settings(catalogue)
        if self._commands is not None:
            catalogue = self._commands.allowed(catalogue)
            state = (*state, self._commands)
        self._catalogue = catalogue
        self._selection = selection or Selection(catalogue["discovery"]["style"])
        self._lifespan = Lifespan(catalogue["server"]["lifespan"], options, load_options)
        modules = [*self._lifespan.modules, "toolmason_runtime.chunks.store", *prepare_modules]
        ranker = catalogue["discovery"].get("ranker")
        self._prefix = catalogue["discovery"]["prefix"]
        self._make_style = partial(
            style_for,
            catalogue,
            self._selection,
            load_index,
            load_postings=load_postings,
            ranker=lazy_ranker(ranker) if ranker else None,
            expect=Preparation(self._prepare_tool, modules, prepare_after_s).expect,
        )
        self._styles = {"": self._make_style()}
        server = catalogue["server"]
        self._state = (*state, ServerInfo(server["name"], server["version"], self._selection.style))
        self._tools: dict[str, _Tool] = {}
        self._call_state: tuple[tuple[object, ...], tuple[object, ...]] | None = None
        """The objects of the lifespan, and with them the state of each call while that lifespan is open."""
        self.updates = ResourceUpdates()
        """The announcements of changed resources."""
        self.before_handler: Callable[[], None] | None = None
        """Called before a handler of a tool, prompt or resource runs; its exception ends the request."""
        self.on_tool: Callable[[str], None] | None = None
        """Called with the name of each tool that runs, also through a meta-tool."""
        self.state_key = ""
        """Key of the processes that are one server behind a balancer; empty if this process is alone."""

    @property
    def server(self) -> ServerEntry:
        """The catalogue's entry of the server."""
        return self._catalogue["server"]

    def instructions(self, client_name: str) -> str:
        """Return the instructions of the server for the client with that `clientInfo.name`; empty without any."""
        text = self.server["instructions"]
        return self._style_with(self.names_for(client_name)).placeholders.fill(text) if text else text

    def listed_tool(self, name: str) -> WireTool | None:
        """Return a tool of `tools/list` by either form of its name; None without one."""
        return self.listed.get(self._bare_name(name))

    @cached_property
    def listed(self) -> Mapping[str, WireTool]:
        """All tools that `tools/list` returns, by their bare names. Constant for the process."""
        return {tool["name"]: tool for tool in self._styles[""].listed()}

    def names_for(self, client_name: str) -> ShownNames:
        """Return the names that a client sees, from its `clientInfo.name`."""
        return self._shown_names if is_prefixed(client_name) else ShownNames()

    @cached_property
    def _shown_names(self) -> ShownNames:
        return ShownNames(self._prefix, self._bare_names)

    @cached_property
    def _bare_names(self) -> frozenset[str]:
        """The names of all tools, their aliases and the meta-tools."""
        metas = STYLES[self._selection.style].metas
        own = {*BUILT_IN, *self._catalogue["tools"], *self._aliases}
        return frozenset({*own, *(meta_name(meta, own, self._prefix) for meta in metas)})

    def _bare_name(self, name: str) -> str:
        return bare_name(name, self._prefix, self._bare_names)

    @property
    def _style(self) -> Style:
        """The discovery style, with the names that the client of this request sees; bare ones outside of a request."""
        client = current_client()
        return self._styles[""] if client is None or client.prefixes else self._style_with(self._shown_names)

    def _style_with(self, names: ShownNames) -> Style:
        if names.prefix not in self._styles:
            self._styles[names.prefix] = self._make_style(names=names, index=self._styles[""].index)
        return self._styles[names.prefix]

    async def dispatch(self, method: str, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Return the result of one request; its `resultType` is `input_required` if the client must respond first.

        Raises:
            MethodError: the request is invalid.
        """
        token = enter_client(context.client_name)
        try:
            if method in TASK_METHODS:
                return await self.tasks.answer(method, params, context)
            # The synchronous phase of stdio, which runs no handler, knows neither the era nor the capabilities.
            is_modern_call = method == "tools/call" and getattr(context, "is_modern", False)
            if is_modern_call and declares_tasks(context.capabilities):
                return await self.tasks.call(params, context, at_once=self._needs_task(params))
            return await self._answer(method, params, context)
        finally:
            leave_client(token)

    async def watch_tasks(self, identities: Collection[str], context: Context) -> WatchedTasks:
        """See `DispatcherProtocol.watch_tasks`."""
        return await self.tasks.watch(identities, context)

    @cached_property
    def tasks(self) -> Tasks:
        """The calls that continue after their requests; imported at the first call of a client that supports them."""
        from toolmason_runtime.tasks.engine import Tasks, tasks_of
        from toolmason_runtime.transports.bearer_token import state_directory

        async def run(params: Mapping[str, Any], context: Context) -> WireResult:
            token = enter_client(context.client_name)
            try:
                return await self._answer("tools/call", params, context)
            finally:
                leave_client(token)

        directory = tasks_of(state_directory(), self.server["name"])
        return Tasks(run, directory, shared=self._chunks.shared, key=self.state_key)

    def _needs_task(self, params: Mapping[str, Any]) -> bool:
        """Return whether a call must become a task before it starts."""
        name = params.get("name")
        tool = self._catalogue["tools"].get(self._aliases.get(self._bare_name(name), name)) if name else None
        return tool is not None and tool.get("task") == "required"

    async def _answer(self, method: str, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        if method not in self._tool_methods and method not in self.methods:
            raise MethodError(METHOD_NOT_FOUND, "Method not found", method)
        if (log := events.active()) is not None:
            from toolmason_runtime.audit.calls import METHODS, audited

            if method in METHODS:
                return await audited(log, method, params, context, partial(self._dispatch, method, params, context))
        return await self._dispatch(method, params, context)

    async def _dispatch(self, method: str, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        try:
            run = self._tool_methods.get(method) or self.methods[method]
            result = await run(params, context)
        except InputRequired as pending:
            return {"resultType": "input_required", "inputRequests": pending.requests}
        if method.endswith("/list"):
            return result  # from the catalogue, which is JSON
        if is_ascii(result):
            return result
        checked: dict[str, Any] = await in_turns(partial(encodable, result)) if is_large(result) else encodable(result)
        return checked

    @cached_property
    def _tool_methods(self) -> Mapping[str, Method]:
        """The methods of tools. `methods` may import modules of prompts and resources."""
        return {"tools/list": self._list_tools, "tools/call": self._call_tool}

    @cached_property
    def methods(self) -> Mapping[str, Method]:
        """The methods that this server answers; those of prompts and resources only if it has any."""
        methods = dict(self._tool_methods)
        if {"prompts", "resources", "skills", "apps"} & self._catalogue.keys():
            from toolmason_runtime.server.surfaces import surface_methods

            methods |= surface_methods(
                self._catalogue, self._selection, self._new_call, lambda: self._style.placeholders, self._apps
            )
        return methods

    @cached_property
    def _apps(self) -> Apps | None:
        """The pages of tools; None without any."""
        if "apps" not in self._catalogue:
            return None
        from toolmason_runtime.server.apps import Apps

        return Apps(self._catalogue, self._new_call, self._served_entry)

    async def _list_tools(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        tools = self._style.listed()
        if self._apps is not None and self._apps.has_pages(context):
            tools = self._apps.with_pages(tools, self._wire_tool)
        return page_of("tools", tools, params.get("cursor"), self.server["page_size"])

    def _served_entry(self, name: str) -> ToolEntry | None:
        """Return the entry of a served tool; None for any other."""
        return self._style.index.get(name)

    def _wire_tool(self, name: str) -> WireTool | None:
        """Return a served tool as the client of this request sees it; None if it is not served."""
        style, entry = self._style, self._style.index.get(name)
        if entry is None:
            return None
        filled = style.placeholders.fill_entry(entry) if entry.get("placeholders") else entry
        client = current_client()
        names = ShownNames() if client is None or client.prefixes else self._shown_names
        return filled["tool"] | {"name": names.shown(name)}

    async def _call_tool(self, params: Mapping[str, Any], context: Context) -> WireResult:
        name, arguments = _call_params(params)
        if self._apps is not None and self._apps.is_action(name, context):
            return await self._apps.act(name, arguments, context)
        name = self._bare_name(name)
        problems = refused_arguments(params)
        return await (self._reject(name, problems) if problems else self._call(name, arguments, context))

    async def run_program(
        self, code: str, context: Context, *, resume: str, timeout_s: int, meta: str, only_reads: bool
    ) -> WireResult:
        """Run a program that calls tools, or resume one; see `discovery.code.ProgramRunner`."""
        if self.before_handler is not None:
            self.before_handler()
        from toolmason_runtime.code_mode.engine import Request

        wait_s = ToolCall(meta, context, (), tool_timeouts=self.server.get("tool_timeouts", {})).max_wait_s
        writer = self._style.placeholders.text_of("call")
        request = Request(
            code=code,
            resume=resume,
            timeout_s=timeout_s,
            meta=meta,
            only_reads=only_reads,
            writer=writer,
            context=context,
            wait_s=wait_s,
        )
        return await self._programs.run(request)

    @cached_property
    def _programs(self) -> Programs:
        """The programs that call tools; imported at the first one."""
        from toolmason_runtime.code_mode.engine import Programs
        from toolmason_runtime.server.program_tools import ProgramTools

        tools = ProgramTools(self._style.index.tools, self.run_tool, self._argument_problem, self._chunks)
        return Programs(tools, self.suspended)

    @cached_property
    def suspended(self) -> SuspendedPrograms:
        """The programs that wait for a person."""
        from toolmason_runtime.code_mode.engine import state_of
        from toolmason_runtime.code_mode.suspended import SuspendedPrograms
        from toolmason_runtime.transports.bearer_token import state_directory

        directory = state_of(state_directory(), self.server["name"])
        return SuspendedPrograms(directory, shared=self._chunks.shared, key=self.state_key)

    def _argument_problem(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return what is wrong with the arguments of a tool; empty if they are valid."""
        tool = self._load_tool(name, self._entry(name))
        try:
            tool.arguments.validate(dict(arguments))
        except ToolError as error:
            return error.message.partition("\nExample: ")[0]
        return ""

    async def aclose(self) -> None:
        """Close the lifespan and the connections to APIs, end all upstreams and free all long texts."""
        if "tasks" in self.__dict__:
            await self.tasks.aclose()
        if "_programs" in self.__dict__:
            await self._programs.aclose()
        await self._lifespan.aclose()
        for opened in self.__dict__.get("_kinds", ()):
            await opened.aclose()
        if "_chunks" in self.__dict__:
            await self._chunks.aclose()

    async def _call(self, name: str, arguments: dict[str, Any], context: Context) -> WireResult:
        style = self._style
        if style.is_meta_tool(name):
            events.note(via=name, kind="meta")
            try:
                result = await style.call(name, arguments, _Runner(self, context))
            except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001  a handler may raise anything
                result = _failure(name, error)
            return _without_repetition(result)
        if self._apps is not None and self._apps.has_page(name, context):
            return await self._apps.run(self.run_tool(name, arguments, context))
        resolved = self._resolve_direct_name(name)
        if resolved != name:
            events.note(alias=name)
        return await self.run_tool(resolved, arguments, context)

    async def _reject(self, name: str, problems: Sequence[str]) -> WireResult:
        """Return the result of a call whose arguments the JSON boundary removed."""
        events.note_failure(INVALID_ARGUMENT)
        if self._style.is_meta_tool(name):
            return error_result("\n".join(problems))
        entry = self._entry(self._resolve_direct_name(name))
        if not is_enabled(entry):
            events.note_failure(_DISABLED)
            return error_result(why_disabled(entry))
        example = [f"Example: {self._call_json(entry, example['arguments'])}" for example in entry["examples"][:1]]
        error = ToolError("\n".join([*problems, *example]), code=INVALID_ARGUMENT)
        return _error_result(error, as_json=self._has_json_errors(entry))

    def _call_json(self, entry: ToolEntry, arguments: Mapping[str, Any]) -> str:
        client = current_client()
        if client is not None and client.calls_unlisted:
            return call_json(entry["tool"]["name"], arguments)
        return call_json(*self._style.call_of(entry, arguments))

    def _entry(self, name: str) -> ToolEntry:
        return BUILT_IN.get(name) or self._catalogue["tools"][self._aliases.get(name, name)]

    def _has_json_errors(self, entry: ToolEntry) -> bool:
        return is_built_in(entry) or self._catalogue["categories"][entry["category"]].get("errors") == "json"

    def _resolve_direct_name(self, name: str) -> str:
        """Return the name of the tool that a client calls directly; it may be disabled.

        Raises:
            MethodError: the style does not allow a direct call of it, or it does not exist.
        """
        resolved = self._aliases.get(name, name)
        if resolved in BUILT_IN or self._style.allows_direct_call(resolved):
            return resolved
        index = self._style.index
        client = current_client()
        if client is not None and client.calls_unlisted and index.get(resolved):
            return resolved
        events.note_failure("NOT_LISTED" if index.get(name) else "UNKNOWN_TOOL")
        # For a hidden tool, the text names the meta-tool that runs it.
        data = None if index.get(name) else {"nearest": index.nearest(name)}
        raise MethodError(INVALID_PARAMS, self._style.unknown_tool_text(name), data)

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """Alias to the current name of the tool."""
        tools = self._catalogue["tools"]
        return {alias: name for name, entry in tools.items() for alias in entry.get("aliases", ())}

    async def run_tool(self, name: str, arguments: dict[str, Any], context: Context) -> WireResult:
        """Run a tool, for direct calls and for calls through a meta-tool."""
        entry = self._entry(name)
        if events.active() is not None:
            events.note_call(entry["tool"]["name"], _kind(entry), arguments)
        if self.on_tool is not None:
            self.on_tool(name)
        if not is_enabled(entry):
            events.note_failure(_DISABLED)
            return error_result(why_disabled(entry))
        try:
            result = await self._execute(name, entry, arguments, context)
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001  a handler may raise anything
            result = _failure(name, error, as_json=self._has_json_errors(entry))
        return with_notes(result, _deprecation(entry)) if "deprecated" in entry else result

    async def _execute(self, name: str, entry: ToolEntry, arguments: dict[str, Any], context: Context) -> WireResult:
        notes: Sequence[str] = ()
        if entry.get("task") == "required" and not getattr(context, "may_be_task", False):
            if self.before_handler is not None:
                self.before_handler()  # the synchronous phase of stdio does not know the client's capabilities
            raise _task_needed(context)
        if "scopes" in entry or "claims" in entry:
            arguments, notes = _authorized(entry, arguments, context)
        tool = self._tools.get(name) or self._load_tool(name, entry)
        if "deprecated_arguments" in entry and (names := tool.arguments.deprecated_names(arguments)):
            events.note(deprecated_arguments=names)
        validated = tool.arguments.validate(arguments)
        if not notes and not validated.notes:
            return await self._handle(tool, name, entry, validated.value, context)
        # Errors get the notes too, because an ignored argument is often their cause.
        try:
            result = await self._handle(tool, name, entry, validated.value, context)
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001  a handler may raise anything
            result = _failure(name, error, as_json=self._has_json_errors(entry))
        return with_notes(result, (*notes, *validated.notes))

    async def _handle(self, tool: _Tool, name: str, entry: ToolEntry, arguments: Any, context: Context) -> WireResult:
        result = await tool.binding.result(arguments, await self._new_call(name, context))
        is_whole = "upstream" in entry
        if is_large(result):
            return await in_turns(lambda: with_end_line(tool.results.to_wire(result), is_whole=is_whole))
        return with_end_line(tool.results.to_wire(result), is_whole=is_whole)

    async def _new_call(self, name: str, context: Context) -> ToolCall:
        if self.before_handler is not None:
            self.before_handler()
        opened = await self._lifespan.state() if self._lifespan.modules else ()
        if self._call_state is None or self._call_state[0] is not opened:
            own = (*self._state, self.updates, self._chunks, *opened, self._lifespan.options, *self._kinds)
            self._call_state = opened, own
        return ToolCall(name, context, self._call_state[1], tool_timeouts=self.server.get("tool_timeouts", {}))

    @cached_property
    def _chunks(self) -> ChunkStore:
        """The long texts of this server."""
        from toolmason_runtime.chunks.store import ChunkStore

        return ChunkStore(
            self.server.get("chunk_store", ""),
            server=self.server["name"],
            show_call=lambda arguments: call_text(*self._style.call_of(FETCH_CHUNK_ENTRY, arguments)),
            state_key=self.state_key,
        )

    @cached_property
    def _kinds(self) -> Sequence[KindState]:
        """The state of each kind of tools, such as the connections to APIs and upstreams."""
        if not has_programs(self._catalogue):
            return ()
        from toolmason_runtime.kinds import open_states

        return tuple(open_states(self._catalogue))

    def _load_tool(self, name: str, entry: ToolEntry) -> _Tool:
        """Import a tool; one thread at a time."""
        with exclusive_import():
            if name not in self._tools:
                if "cli" in entry:  # a program tool: earlier than the import of its binding
                    _start_launcher()
                binding = self._binding(name, entry)
                if binding.starts_programs:  # a handler
                    _start_launcher()
                arguments = ArgumentValidator(entry, binding.params, partial(self._call_json, entry))
                schema = entry.get("result_schema", entry["tool"].get("outputSchema"))
                self._tools[name] = _Tool(binding, arguments, ResultWriter(schema, is_foreign=binding.is_foreign))
            return self._tools[name]

    def _prepare_tool(self, name: str, entry: ToolEntry) -> None:
        """Import a tool, and import and compile what its first call needs."""
        tool = self._load_tool(name, entry)
        tool.arguments.prepare()
        tool.results.prepare()
        tool.binding.prepare()

    def _binding(self, name: str, entry: ToolEntry) -> Binding:
        bindings: Mapping[str, Binding] = importlib.import_module(bindings_module(self._catalogue, entry)).BINDINGS
        return bindings[name]


def _start_launcher() -> None:
    """Start the launcher of programs. It starts while this process imports the modules of the call."""
    from toolmason_runtime.programs.launcher_process import start_ahead

    start_ahead()


def _without_repetition(result: WireResult) -> WireResult:
    """Return a result of a meta-tool, which has no output schema, without the structure that its text repeats.

    Only for clients that show both to their model.
    """
    if "structuredContent" not in result:
        return result
    client = current_client()
    if client is None or not client.repeats_structure:
        return result
    return {key: value for key, value in result.items() if key != "structuredContent"}


def _task_needed(context: Context) -> Exception:
    """Return the error for a tool that runs only as a task, for a client without tasks."""
    from toolmason_runtime.calls.request_context import missing_tasks
    from toolmason_runtime.wire.requests import TASKS

    if not context.is_modern:
        reason = f"This tool takes long and needs a client of MCP 2026-07-28 with the extension {TASKS}"
        return ToolError(reason, code="CAPABILITY_MISSING")
    return missing_tasks("This tool")


def _authorized(entry: ToolEntry, arguments: dict[str, Any], context: Context) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the arguments with the values of claims, and notes; raise ToolError if the caller lacks a scope."""
    from toolmason_runtime.calls.authorization import check_scopes, with_claims

    check_scopes(entry, context)
    return with_claims(entry, arguments, context.principal) if "claims" in entry else (arguments, ())


def _failure(name: str, error: BaseException, *, as_json: bool = False) -> WireResult:
    """Return an error result without internal details.

    Raises:
        MethodError: the request is invalid.
    """
    tool_error = to_tool_error(f"tool {name}", error)
    note_error(tool_error)
    events.note_failure(tool_error.code)
    return _error_result(tool_error, as_json=as_json)


def _with_code(result: WireResult, error: ToolError) -> WireResult:
    """Add the code of an error for a client that is code; models read the text alone."""
    client = current_client()
    if client is None or not client.calls_unlisted:
        return result
    return {**result, "_meta": {ERROR_CODE: {"code": error.code}}}


ERROR_CODE: Final = "toolmason.dev/error"
"""Key of `_meta` with the code of an error, for typed clients."""
_DISABLED: Final = "DISABLED_TOOL"
"""Code of a call of a disabled tool, in the audit log."""
_BUG_ADVICE: Final = ": internal server error; see the server log, and report it if it recurs"


def _error_result(error: ToolError, *, as_json: bool) -> WireResult:
    # Imported here: many servers never return an error. Its message may quote a program or another machine.
    from toolmason_runtime.shared.visible_text import visible, visible_value

    message = visible(error.message)
    if not as_json:
        return _with_code(error_result(message), error)
    advice = _BUG_ADVICE if error.code == INTERNAL and not error.details else ""
    details = {"details": visible_value(error.details)} if error.details else {}
    body = {"code": error.code, "message": message + advice, **details}
    return error_result(mask(json.dumps({"error": body}, ensure_ascii=False)))


def _kind(entry: ToolEntry) -> str:
    """Return the kind of a tool's implementation, for the audit log."""
    if is_built_in(entry):
        return "built-in"
    kinds = {"cli": "program", "api": "http", "upstream": "upstream"}
    return next((kind for key, kind in kinds.items() if key in entry), entry.get("kind", "handler"))


def _call_params(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
        raise MethodError(INVALID_PARAMS, "tools/call requires `name` (string) and accepts `arguments` (object)")
    return name, arguments or {}


def _deprecation(entry: ToolEntry) -> list[str]:
    return [f"Note: {entry['tool']['name']} is deprecated: {deprecation_text(entry['deprecated'])}"]
