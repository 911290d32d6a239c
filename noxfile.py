"""What there is to run: `nox -l` lists it. Nothing runs in CI that cannot be run here by the same name."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"  # uv if it is there; nothing needs it
nox.options.sessions = ["check", "lint", "types", "tests"]

ROOT = Path(__file__).parent
PYPROJECT = nox.project.load_toml("pyproject.toml")
EVERYTHING = "-e.[toolkit,workbench]"
PARALLEL = ("-n", "auto", "--dist", "worksteal")
FROM_ELSEWHERE = ("--ignore=tests/wheel", "--ignore=tests/converters")
"""Tests that need what only a session of their own installs: the built wheel, the converters of clients."""
CLIMAX = "climax-mcp==0.5.0"
"""The oracle of `toolmason import climax`. It asks for mcp 1.x, of which the test uses nothing."""
SAME_IN_A_WHEEL = (
    *("--ignore=tests/schema/test_properties.py", "--ignore=tests/schema/test_judging.py"),
    "--ignore=tests/generator/test_climax_oracle.py",
    *(f"--ignore=tests/workbench/research/{part}" for part in ("analysis", "answers", "backend", "paths")),
)
"""Long tests of the parts alone, which no packaging can change; those of whole servers stay."""


@nox.session(tags=["gen"])
def generate(session: nox.Session) -> None:
    """Rewrite generated/ from manifest/. Takes the options of `toolmason generate`, such as --watch."""
    session.install("-e.[toolkit]")
    session.run("toolmason", "generate", *session.posargs)


@nox.session
def check(session: nox.Session) -> None:
    """Compare generated/ with what manifest/ gives and lint the manifest. Writes nothing."""
    session.install("-e.[toolkit]")
    session.run("toolmason", "check", *session.posargs)
    session.run("toolmason", "lint")


@nox.session
def lint(session: nox.Session) -> None:
    """Check every Python file with one version of ruff."""
    session.install(*_group("lint"))
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Prove with mypy that everything fits, handlers to the contract that is generated for them included."""
    session.install(EVERYTHING, *_group("tests"))
    session.run("mypy", "generator", "runtime", "handlers", "templates", "generated", "tests", "noxfile.py")


@nox.session
@nox.parametrize("end", ["lowest", "highest"])
def versions(session: nox.Session, end: str) -> None:
    """Generate with the lowest and highest versions of ruff and datamodel-code-generator, and compare the bytes."""
    ranges = _requirements("ruff", "datamodel-code-generator")
    session.install(EVERYTHING, *(each for each in _group("tests") if each.startswith(("hypothesis", "pytest"))))
    session.install(*(["--upgrade", *ranges] if end == "highest" else map(_lowest, ranges)))
    # Without the record of an earlier run, which would spare the rendering.
    session.run("toolmason", "check", env={"CI": "true"})
    session.run("pytest", "tests/test_golden.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests. Takes arguments of pytest instead: `nox -s tests -- tests/test_golden.py -k sumary`."""
    session.install(EVERYTHING, *_group("tests"))
    session.install("--no-deps", CLIMAX)
    _install_npm_packages(session)
    session.run("pytest", *(session.posargs or (*PARALLEL, *FROM_ELSEWHERE)))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Run the property tests with random examples, ten rounds. `nox -s fuzz -- 3 tests/schema` runs three of some.

    Not part of CI: what it finds may be as old as the project. It prints how to repeat each failure.
    """
    session.install(EVERYTHING, *_group("tests"))
    rounds, *paths = session.posargs or ("10",)
    for _ in range(int(rounds)):
        session.run("pytest", "-m", "hypothesis", "--hypothesis-profile=fuzz", *PARALLEL, *FROM_ELSEWHERE, *paths)


@nox.session
def lock(session: nox.Session) -> None:
    """Rewrite the pins of the action and the hooks from pyproject.toml; `-- --upgrade` takes new versions."""
    session.install("uv")
    session.run("python", "requirements/lock.py", *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the official conformance suite against a server generated for it, at both revisions of the protocol."""
    session.install(EVERYTHING, *_group("tests"))
    _install_npm_packages(session)
    session.run("pytest", "tests/conformance", *session.posargs)


@nox.session
def converters(session: nox.Session) -> None:
    """Run the schemas we send through the converters of real clients, in Python and JavaScript."""
    session.install(EVERYTHING, *_group("converters"))
    _install_npm_packages(session, ROOT / "tests" / "converters")
    session.run("pytest", "tests/converters", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel, look at it in fresh environments, and run the tests against it instead of the checkout."""
    # Not session.create_tmp(), in which the tests would then make their own folders: inside this project.
    folder = Path(session.virtualenv.location).resolve() / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    session.install("build", *_group("tests"))
    session.run("python", "-m", "build", "--wheel", "--outdir", str(folder), ".")
    built = next(folder.glob("*.whl"))
    # By hand, since pip would keep an installed wheel of the same version.
    session.install("--force-reinstall", "--no-deps", str(built))
    session.install(f"{built}[toolkit,workbench]")
    _install_npm_packages(session)
    session.run("pytest", "tests/wheel", env={"TOOLMASON_WHEEL": str(built)})
    session.run("pytest", *(session.posargs or (*PARALLEL, *FROM_ELSEWHERE, *SAME_IN_A_WHEEL)))


@nox.session(tags=["gen"])
def goldens(session: nox.Session) -> None:
    """Rewrite the expected files of golden cases, the transcripts and docs/schemas.md. Review the diff afterwards."""
    session.install(EVERYTHING, *_group("tests"))
    # A case that is rewritten counts as failed.
    pages = ("tests/test_golden.py", "tests/transcripts", "tests/test_schema_docs.py")
    session.run("pytest", *pages, "--regen-all", *session.posargs, success_codes=[0, 1])


@nox.session
def docs(session: nox.Session) -> None:
    """Run what the pages show and compare it with the output shown there; look at the links of every page."""
    session.install(EVERYTHING, *_group("tests"))
    _install_npm_packages(session)
    session.run("pytest", "tests/test_readme.py", "tests/test_schema_docs.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure start, list, search and generation side by side with others; rewrites docs/benchmarks.md."""
    session.install(EVERYTHING, *_group("bench"))
    session.run("python", "-m", "bench", *session.posargs)


def _group(name: str) -> tuple[str, ...]:
    return nox.project.dependency_groups(PYPROJECT, name)


def _requirements(*names: str) -> list[str]:
    """Return the requirements of the toolkit on the packages `names`."""
    extras: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
    return [requirement for requirement in extras["toolkit"] if requirement.startswith(names)]


def _lowest(requirement: str) -> str:
    """Return the lowest version that a requirement accepts: `ruff==0.16` for `ruff>=0.16,<0.18`."""
    return requirement.partition(",")[0].replace(">=", "==")


def _install_npm_packages(session: nox.Session, folder: Path = ROOT / "tests") -> None:
    """Install what the package-lock.json in `folder` names, unless it was installed before."""
    if shutil.which("npm") is None:
        session.error(
            "npm is missing: the tests drive our servers with programs of others. Install Node.js 20 or later"
        )
    lock = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "node_modules" / ".installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == lock:
        return
    with session.chdir(folder):
        session.run("npm", "ci", external=True)
    stamp.write_text(lock, encoding="utf-8")
