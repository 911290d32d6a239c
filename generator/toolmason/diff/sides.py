"""Load one side of a comparison: a manifest, a git revision, a file, a running server or a published package."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import quoted

from toolmason.audit.server_address import AddressError, is_url, redact_address, split_command
from toolmason.audit.sources import STDIN, Source, SourceError, load_file
from toolmason.audit.tool_lists import ToolDeclaration, ToolListError, parse_tool_list
from toolmason.diagnostics import Diagnostics
from toolmason.diff.contract import Contract, ToolContract
from toolmason.diff.manifest_side import manifest_contract
from toolmason.pipeline import read
from toolmason.project import Project, ProjectError, find_project

MAX_ARCHIVE_BYTES: Final = 512 * 1024 * 1024
"""Maximum size of the project in a revision."""
_PYPI: Final = "pypi:"
_NPM: Final = "npm:"
_STDIO: Final = "stdio:"
"""Prefix of a command line, needed for one word: `HEAD` outside a repository starts no program of that name."""
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:==[A-Za-z0-9.+!-]+)?")
_NPM_NAME: Final = re.compile(r"(?:@[a-z0-9._~-]+/)?[a-z0-9._~-]+(?:@[A-Za-z0-9.+^~-]+)?")
_DOWNLOAD_S: Final = 120
_GIT_S: Final = 60


class InvalidManifestError(Exception):
    """The manifest of a side has errors, which are in `diagnostics`."""

    def __init__(self, source: str, diagnostics: Diagnostics) -> None:
        super().__init__(source)
        self.source, self.diagnostics = source, diagnostics


class SideLoader:
    """Loads sides.

    Args:
        directory: the working directory, for relative paths and revisions.
        current: return the project of the working directory; it raises `ProjectError` if there is none.
        headers: HTTP headers for URLs.
        timeout_s: seconds for a server to start and list its tools.
    """

    def __init__(
        self, directory: Path, current: Callable[[], Project], *, headers: Mapping[str, str], timeout_s: float
    ) -> None:
        self._directory, self._current = directory, current
        self._headers, self._timeout_s = headers, timeout_s

    def load(self, side: str) -> Contract:
        """Return the contract of a side.

        Raises:
            SourceError: it cannot be loaded.
            InvalidManifestError: its manifest has errors.
        """
        path = self._directory / side
        if side == STDIN or (side.endswith(".json") and path.is_file()):
            return list_contract(load_file(side))
        if is_url(side):
            return self._server(side)
        if side.startswith(_PYPI):
            return _load_pypi(side.removeprefix(_PYPI))
        if side.startswith(_STDIO):
            return self._server(side.removeprefix(_STDIO))
        if side.startswith(_NPM):
            return self._load_npm(side.removeprefix(_NPM))
        if path.is_file() and path.suffix == ".whl":
            return _load_wheel(path, side)
        if path.is_file() and path.suffix == ".lock":
            return _load_lock(path, side)
        if path.is_file() and path.suffix == ".toml":
            return self._manifest(Path(side))
        if path.is_dir():
            return self._load_directory(path, side)
        if path.is_file():
            return list_contract(load_file(side))
        if (revision := self._revision(side)) is not None:
            return revision
        if len(side.split()) > 1:
            return self._server(side)
        raise SourceError(
            f"{quoted(side)} is neither a revision of git, a file, a directory nor a URL; "
            "write a server as its command line: 'stdio:my-server --classic'"
        )

    def working_tree(self) -> Contract:
        """Return the contract of the manifest in the working tree."""
        try:
            return self._project(self._current(), source="the working tree")
        except ProjectError as error:
            raise SourceError(str(error)) from error

    def _manifest(self, path: Path) -> Contract:
        try:
            return self._project(find_project(self._directory, path), source=path.as_posix())
        except ProjectError as error:
            raise SourceError(str(error)) from error

    def _project(self, project: Project, *, source: str, shown: str | None = None) -> Contract:
        diagnostics = Diagnostics()
        reading = read(project, diagnostics=diagnostics, missing=[])
        if reading is None:
            raise InvalidManifestError(source, diagnostics)
        if shown is None:
            root = project.root
            is_below = root != self._directory and root.is_relative_to(self._directory)
            shown = f"{root.relative_to(self._directory).as_posix()}/" if is_below else ""
        return manifest_contract(reading, project.root, source=source, prefix=shown)

    def _load_directory(self, path: Path, side: str) -> Contract:
        for found in (path / "catalogue.json", *sorted(path.glob("*/catalogue.json"))):
            if found.is_file() and not any((path / "manifest").glob("*.toml")):
                return _load_catalogue(found.read_bytes(), side)
        manifests = sorted((path / "manifest").glob("*.toml")) or sorted(path.glob("*.toml"))
        manifests = [found for found in manifests if found.name != "pyproject.toml"]
        if not manifests:
            raise SourceError(f"{side}: it has neither a manifest nor a generated package (`catalogue.json`)")
        try:
            if (path / "manifest").is_dir():
                return self._project(find_project(path), source=side)
            return self._project(find_project(path, manifests[0]), source=side)
        except ProjectError as error:
            raise SourceError(str(error)) from error

    # Servers

    def _server(self, address: str) -> Contract:
        from toolmason.audit.mcp_client import describe_server
        from toolmason.audit.server_lists import ServerError

        try:
            server: Any = address if is_url(address) else split_command(address)
        except AddressError as error:
            raise SourceError(f"{quoted(address)} is no command line: {error}") from None
        name = redact_address(address)
        try:
            about = describe_server(server, headers=self._headers, timeout_s=self._timeout_s)
            parsed = parse_tool_list(list(about.tools), ("tools",))
        except ServerError as error:
            output = "".join(f"\n  | {line}" for line in error.stderr_tail.splitlines())
            stderr = f"; its stderr:{output}" if output else ""
            raise SourceError(f"server {quoted(name)}: {' '.join(str(error).split())}{stderr}") from error
        except ToolListError as error:
            raise SourceError(f"server {quoted(name)}: invalid `tools/list` result: {error}") from None
        source = Source(name=name, tools=parsed.tools, notes=parsed.notes)
        return list_contract(source, name=about.name or None, version=about.version)

    def _load_npm(self, name: str) -> Contract:
        if not _NPM_NAME.fullmatch(name):
            raise SourceError(f"{quoted(name)} is no package of npm: write `npm:NAME` or `npm:NAME@VERSION`")
        return self._server(f"npx --yes {name}")

    # Revisions

    def _revision(self, side: str) -> Contract | None:
        """Return the contract of a revision, or of a manifest in it (`REV:PATH`); None if there is no such revision."""
        revision, _, path = side.partition(":")
        if not revision or revision.startswith("-") or any(char.isspace() for char in revision):
            return None
        commit = _git(self._directory, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        top = _git(self._directory, "rev-parse", "--show-toplevel")
        if not commit or not top:
            return None
        repository = Path(top.decode("utf-8", "surrogateescape").strip())
        try:
            if path:
                project = find_project(self._directory, None) if not path.endswith(".toml") else None
                manifest = PurePosixPath(path)
                folder = manifest.parent.parent if manifest.parent.name == "manifest" else manifest.parent
            else:
                project = self._current()
                folder = PurePosixPath(project.root.resolve().relative_to(repository.resolve()).as_posix())
                manifest = folder / project.shown_manifest
        except (ProjectError, ValueError) as error:
            raise SourceError(f"{side}: {error}; write REVISION:PATH of the manifest") from error
        with TemporaryDirectory() as temporary:
            root = Path(temporary).resolve() / "revision"
            root.mkdir()
            _extract(repository, commit.decode().strip(), folder, root, side)
            return self._project_of_revision(root, manifest.relative_to(folder), side, revision)

    def _project_of_revision(self, root: Path, manifest: PurePosixPath, side: str, revision: str) -> Contract:
        try:
            # It may have had another name.
            has_name = (root / manifest).is_file()
            project = find_project(root, root / manifest) if has_name else find_project(root)
        except ProjectError:
            project = None
        if project is None or not project.root.is_relative_to(root):
            raise SourceError(f"{side}: there is no manifest {manifest} in this revision")
        return self._project(project, source=side, shown=f"{revision}:")


def _git(directory: Path, *arguments: str) -> bytes:
    """Return the output of git, empty if it fails or is not installed."""
    try:
        run = subprocess.run(  # noqa: S603 - the revisions of options are checked
            ["git", *arguments],  # noqa: S607 - as a user of the project runs it
            cwd=directory,
            capture_output=True,
            check=False,
            timeout=_GIT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return run.stdout if run.returncode == 0 else b""


def _extract(repository: Path, commit: str, folder: PurePosixPath, root: Path, side: str) -> None:
    """Write the files of a directory in a commit to `root`."""
    tree = commit if folder == PurePosixPath() else f"{commit}:{folder}"
    archive = _git(repository, "archive", "--format=tar", tree)
    if not archive:
        raise SourceError(f"{side}: there is no directory {folder} in this revision")
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise SourceError(f"{side}: the project is larger than {MAX_ARCHIVE_BYTES // 1024 // 1024} MiB")
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(root, filter=_regular)  # noqa: S202 - the filter rejects other places
    except (tarfile.TarError, OSError) as error:
        raise SourceError(f"{side}: cannot read this revision: {error}") from error


def _regular(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """Return a member that is safe to extract, None for links out of the directory and the like."""
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        return None


# Lists and packages


def list_contract(source: Source, *, name: str | None = None, version: str = "") -> Contract:
    """Return the contract of a list of tools.

    Raises:
        SourceError: two tools have one name.
    """
    names = [tool.name for tool in source.tools]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SourceError(f"{source.name}: two tools are called {quoted(twice)}")
    tools = {tool.name: _tool(tool, source) for tool in source.tools}
    return Contract(source=source.name, tools=tools, name=name, version=version)


def _tool(tool: ToolDeclaration, source: Source) -> ToolContract:
    declaration = tool.declaration
    schema = tool.schema if isinstance(tool.schema, dict) else {"type": "object"}
    hints, result = declaration.get("annotations"), declaration.get("outputSchema")
    return ToolContract(
        name=tool.name,
        arguments=schema,
        listed=schema,
        result=result if isinstance(result, dict) else None,
        title=str(declaration.get("title") or ""),
        description=str(declaration.get("description") or ""),
        hints=hints if isinstance(hints, dict) else {},
        locate=lambda pointer: source.locate(tool, pointer),
    )


def _load_lock(path: Path, name: str) -> Contract:
    # Imported here: it uses `manifest_side`, and most sides are no such file.
    from toolmason.diff.lock import LockError, read_lock

    try:
        return read_lock(path, name)
    except (LockError, OSError) as error:
        raise SourceError(f"{name}: cannot read the published contract: {error}") from error


def _load_pypi(requirement: str) -> Contract:
    if not _REQUIREMENT.fullmatch(requirement):
        raise SourceError(f"{quoted(requirement)} is no package of PyPI: write `pypi:NAME` or `pypi:NAME==VERSION`")
    with TemporaryDirectory() as directory:
        command = [*_pip(requirement), "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--dest", directory, requirement]
        try:
            run = subprocess.run(  # noqa: S603 - the requirement is checked
                command, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=_DOWNLOAD_S
            )
        except subprocess.TimeoutExpired:
            raise SourceError(f"pypi:{requirement}: pip did not answer in {_DOWNLOAD_S} s") from None
        wheels = sorted(Path(directory).glob("*.whl"))
        if not wheels:
            reason = next(
                (line for line in run.stderr.splitlines() if line.startswith("ERROR")), run.stderr.strip()[-200:]
            )
            raise SourceError(f"pypi:{requirement}: pip cannot download a wheel: {reason}")
        return _load_wheel(wheels[0], f"{_PYPI}{requirement}")


def _pip(requirement: str) -> list[str]:
    """Return the command of pip: that of this interpreter, which uv does not install, or the one on PATH."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if (program := shutil.which("pip") or shutil.which("pip3")) is not None:
        return [program]
    raise SourceError(f"{_PYPI}{requirement}: pip is not installed; download the wheel and write its path")


def _load_wheel(path: Path, name: str) -> Contract:
    try:
        with zipfile.ZipFile(path) as wheel:
            found = [entry for entry in wheel.infolist() if PurePosixPath(entry.filename).name == "catalogue.json"]
            data = wheel.read(found[0]) if found and found[0].file_size <= MAX_ARCHIVE_BYTES else b""
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise SourceError(f"{name}: this is no wheel: {error}") from error
    if not data:
        raise SourceError(
            f"{name}: this package has no server of Toolmason (`catalogue.json`); start its server instead: write the "
            "command line in quotes"
        )
    return _load_catalogue(data, name)


def _load_catalogue(data: bytes, name: str) -> Contract:
    """Return the contract of a generated package. It has the listed schemas, not those of the manifest."""
    try:
        table = json.loads(data)
        entries = [entry for entry in table["tools"].values() if entry.get("enabled", True)]
        parsed = parse_tool_list([entry["tool"] for entry in entries], ("tools",))
        contract = list_contract(Source(name=name, tools=parsed.tools, notes=parsed.notes))
        tools = {entry["tool"]["name"]: _with_entry(contract.tools[entry["tool"]["name"]], entry) for entry in entries}
        server, discovery = table["server"], table["discovery"]
        return Contract(
            source=name,
            tools=tools,
            name=server["name"],
            prefix=discovery["prefix"],
            version=server["version"],
            style=discovery["style"],
            pinned=tuple(discovery["pinned"]),
            catalogue=table,
            prompts={key: _prompt(entry) for key, entry in table.get("prompts", {}).items()},
            resources={key: _resource(entry) for key, entry in table.get("resources", {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, ToolListError) as error:
        raise SourceError(f"{name}: its `catalogue.json` is not one of this version of Toolmason: {error}") from error


def _with_entry(tool: ToolContract, entry: Mapping[str, Any]) -> ToolContract:
    from dataclasses import replace

    return replace(
        tool,
        summary=entry["summary"],
        category=entry["category"],
        tier=entry["tier"],
        aliases=tuple(entry.get("aliases", ())),
        argument_aliases=entry.get("argument_aliases", {}),
        deprecated="deprecated" in entry,
        scopes=tuple(entry.get("scopes", ())),
        needs_tasks=entry.get("task") == "required",
    )


def _prompt(entry: Mapping[str, Any]) -> dict[str, Any]:
    wire = entry["prompt"]
    texts = [message.get("text", "") for message in entry.get("messages", ())]
    return {"arguments": wire.get("arguments", []), "text": [wire.get("title", ""), wire["description"], texts]}


def _resource(entry: Mapping[str, Any]) -> dict[str, Any]:
    wire = entry["resource"]
    return {"uri": wire.get("uri") or wire["uriTemplate"], "mime_type": wire.get("mimeType", "")}
