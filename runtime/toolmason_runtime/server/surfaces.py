"""The methods of prompts, resources and completion that a server answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolmason_runtime.calls.call import Context, Method
from toolmason_runtime.calls.completion import Completion, matching, wire_completion
from toolmason_runtime.server.prompts import Prompts, served_prompts
from toolmason_runtime.server.resources import Resources
from toolmason_runtime.server.surface_handlers import COMPLETION, NewCall, SurfaceHandlers
from toolmason_runtime.shared.catalogue import Catalogue, SurfaceEntry
from toolmason_runtime.shared.errors import INVALID_PARAMS, MethodError
from toolmason_runtime.shared.placeholders import Placeholders
from toolmason_runtime.shared.selection import Selection

if TYPE_CHECKING:
    from toolmason_runtime.server.apps import Apps


def surface_methods(
    catalogue: Catalogue,
    selection: Selection,
    new_call: NewCall,
    placeholders: Callable[[], Placeholders],
    apps: Apps | None = None,
) -> dict[str, Method]:
    """Return the methods for the prompts and resources of a server, without those that it does not need.

    `placeholders` returns the names of tools in texts for the client of a request.
    """
    skills = None
    if "skills" in catalogue:
        from toolmason_runtime.server.skills import Skills, served_skills

        skills = Skills(catalogue, served_skills(catalogue, selection))
    resources = Resources(catalogue, new_call, placeholders, skills, apps)
    prompts = Prompts(catalogue, served_prompts(catalogue, selection), new_call, resources, placeholders)
    entries: list[SurfaceEntry] = [*prompts.entries.values(), *catalogue.get("resources", {}).values()]
    methods: dict[str, Method] = {}
    if prompts.entries:
        methods |= {"prompts/list": prompts.list, "prompts/get": prompts.get}
    if "resources" in catalogue or skills is not None or apps is not None:
        methods |= {
            "resources/list": resources.list,
            "resources/templates/list": resources.list_templates,
            "resources/read": resources.read,
        }
    if skills is not None:
        methods |= {
            "skills/list": skills.list,
            "skills/get": skills.get,
            "resources/directory/read": skills.read_directory,
        }
    if any(entry.get("subscribe") for entry in catalogue.get("resources", {}).values()):
        methods |= dict.fromkeys(("resources/subscribe", "resources/unsubscribe"), resources.check_subscription)
    if any("completions" in entry for entry in entries):
        methods["completion/complete"] = _Completions(prompts, resources).complete
    return methods


class _Completions:
    """Answers `completion/complete`."""

    def __init__(self, prompts: Prompts, resources: Resources) -> None:
        self._prompts = prompts
        self._resources = resources

    async def complete(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Return the values to offer for one argument; none for an argument without completion.

        Raises:
            MethodError: the prompt or the resource is unknown, or its handler failed.
        """
        completion = _completion(params)
        handlers, name, entry = self._find(params.get("ref"))
        completions = entry.get("completions", {})
        if completion.argument not in completions:
            return wire_completion(())
        values = completions[completion.argument]
        if values is not None:
            return wire_completion(matching(values, completion.value))
        return wire_completion(await handlers.run(f"{name}.{completion.argument}", completion, context, COMPLETION))

    def _find(self, ref: Any) -> tuple[SurfaceHandlers, str, SurfaceEntry]:
        match ref:
            case {"type": "ref/prompt", "name": name}:
                prompt = self._prompts.find(name)
                return self._prompts.handlers, prompt["prompt"]["name"], prompt
            case {"type": "ref/resource", "uri": uri}:
                resource = self._resources.find_template(uri)
                return self._resources.handlers, resource["resource"]["name"], resource
        raise MethodError(INVALID_PARAMS, "`ref` must be a ref/prompt with `name` or a ref/resource with `uri`")


def _completion(params: Mapping[str, Any]) -> Completion:
    match params:
        case {"argument": {"name": str(name), "value": str(value)}}:
            context = params.get("context")
            arguments = context.get("arguments") if isinstance(context, dict) else None
            return Completion(name, value, arguments if isinstance(arguments, dict) else {})
    raise MethodError(INVALID_PARAMS, "completion/complete requires `argument` with `name` and `value` (strings)")
