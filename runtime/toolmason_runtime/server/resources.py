"""Answer `resources/list`, `resources/templates/list` and `resources/read`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolmason_runtime.calls.call import Context
from toolmason_runtime.server.package_data import read_package_file
from toolmason_runtime.server.surface_handlers import RESOURCE, NewCall, SurfaceHandlers
from toolmason_runtime.shared.catalogue import Catalogue, ResourceEntry
from toolmason_runtime.shared.errors import RESOURCE_NOT_FOUND, MethodError
from toolmason_runtime.shared.placeholders import Placeholders
from toolmason_runtime.shared.values.uri_template import match_uri
from toolmason_runtime.wire.content import resource_contents
from toolmason_runtime.wire.paging import page_of
from toolmason_runtime.wire.requests import SKILL_SCHEME

if TYPE_CHECKING:
    from toolmason_runtime.server.apps import Apps
    from toolmason_runtime.server.skills import Skills


class Resources:
    """The resources and resource templates of one server."""

    def __init__(
        self,
        catalogue: Catalogue,
        new_call: NewCall,
        placeholders: Callable[[], Placeholders],
        skills: Skills | None = None,
        apps: Apps | None = None,
    ) -> None:
        self._apps = apps
        self._skills = skills
        self._placeholders = placeholders
        self._server = catalogue["server"]
        self.handlers = SurfaceHandlers("resource", self._server["package"], new_call)
        entries = catalogue.get("resources", {}).values()
        self._by_uri = {entry["resource"]["uri"]: entry for entry in entries if "uri" in entry["resource"]}
        self._by_template = {
            entry["resource"]["uriTemplate"]: entry for entry in entries if "uriTemplate" in entry["resource"]
        }

    async def list(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG002  a method
        """Answer `resources/list`."""
        return self._page("resources", self._by_uri, params)

    async def list_templates(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG002
        """Answer `resources/templates/list`."""
        return self._page("resourceTemplates", self._by_template, params)

    async def read(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Answer `resources/read`.

        Raises:
            MethodError: the resource is unknown, a variable is invalid, or its handler failed.
        """
        uri = params.get("uri")
        if self._apps is not None and self._apps.has_pages(context) and (page := await self._apps.read(uri)):
            return page
        if self._skills is not None and str(uri).startswith(SKILL_SCHEME) and (file := await self._skills.read(uri)):
            mime_type, content = file
            return {"contents": [resource_contents(str(uri), mime_type, _as_text(content, mime_type))]}
        entry, variables = self.find(uri)
        wire = entry["resource"]
        data: str | bytes | None
        if "file" in entry:
            data = await read_package_file(self._server.get("handlers", ""), entry["file"])
        else:
            checked = self.handlers.validate(wire["name"], entry, variables, handled=True)
            data = await self.handlers.run(wire["name"], checked, context, RESOURCE)
        if data is None:
            raise _not_found(uri)
        return {"contents": [resource_contents(str(uri), wire["mimeType"], _as_text(data, wire["mimeType"]))]}

    async def check_subscription(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG002
        """Answer `resources/subscribe` and `resources/unsubscribe`; the transport keeps the subscribers.

        Raises:
            MethodError: no client can subscribe to the resource.
        """
        if not self.find(params.get("uri"))[0].get("subscribe"):
            raise _not_found(params.get("uri"))
        return {}

    def find(self, uri: Any) -> tuple[ResourceEntry, dict[str, str]]:
        """Return the resource or template of a URI, and its variables.

        Raises:
            MethodError: there is none.
        """
        if isinstance(uri, str):
            if uri in self._by_uri:
                return self._by_uri[uri], {}
            for template, entry in self._by_template.items():
                if (variables := match_uri(template, uri)) is not None:
                    return entry, variables
        raise _not_found(uri)

    def find_template(self, uri: Any) -> ResourceEntry:
        """Return the resource of a URI template, or of a URI.

        Raises:
            MethodError: there is none.
        """
        return self._by_template[uri] if uri in self._by_template else self.find(uri)[0]

    def _page(self, key: str, entries: Mapping[str, ResourceEntry], params: Mapping[str, Any]) -> dict[str, Any]:
        placeholders = self._placeholders()
        listed = [placeholders.fill_schema(entry["resource"]) for entry in entries.values()]
        return page_of(key, listed, params.get("cursor"), self._server["page_size"])


def _not_found(uri: Any) -> MethodError:
    return MethodError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})


def _as_text(data: str | bytes, mime_type: str) -> str | bytes:
    """Return the content of a text file as text, if it is valid UTF-8."""
    is_text = mime_type.startswith("text/") or mime_type.partition(";")[0].endswith(("json", "xml", "yaml", "toml"))
    if isinstance(data, bytes) and is_text:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data
    return data
