"""The supply chain of this repository and of a new project, judged offline by rules like those of OpenSSF Scorecard.

A mutation test removes each property: the rule for it must then have a finding.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from toolmason.commands import toolmason

ROOT: Final = Path(__file__).parent.parent
DOCKERFILE: Final = "generated/plugins/docker/Dockerfile"
FILES: Final = (
    *("SECURITY.md", "LICENSE", "CONTRIBUTING.md", "action.yml", "noxfile.py", "pyproject.toml", DOCKERFILE),
    *(".ci/run", ".pre-commit-hooks.yaml", "docs/publishing.md", ".github", "requirements"),
)
"""Everything in this repository that the rules read."""
PIN: Final = re.compile(r"([\w.-]+/[\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)")
"""An action by commit, with the version as a comment."""
WRITES: Final = {"attestations": "attest", "id-token": "attest|publish(-toolkit|-schema|-npm)?", "contents": "github"}
"""Permission to write -> pattern of the jobs that may have it."""

Workflow = dict[str, Any]


@cache
def parse(text: str) -> Any:
    """Return the content of a YAML text; callers do not change it. The key `on` is read as true."""
    return yaml.load(text, yaml.CSafeLoader)


def workflows(root: Path) -> Mapping[str, Workflow]:
    """Return the workflows by file name."""
    paths = sorted((root / ".github" / "workflows").glob("*.yml"))
    return {path.name: parse(path.read_text(encoding="utf-8")) for path in paths}


def jobs(root: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, workflow in workflows(root).items():
        for job, content in workflow["jobs"].items():
            yield name, job, content


def scripts(root: Path) -> Iterator[tuple[str, str]]:
    """Yield each shell script of workflows, action, Dockerfile and CI, with lines that continue joined."""
    for name, job, content in jobs(root):
        for step in content["steps"]:
            yield f"{name}: {job}", step.get("run", "")
    if (root / "action.yml").is_file():
        for step in parse(read(root, "action.yml"))["runs"]["steps"]:
            yield "action.yml", step.get("run", "")
    for path in (".ci/run", DOCKERFILE):
        if (root / path).is_file():
            yield path, (root / path).read_text(encoding="utf-8")


def read(root: Path, path: str) -> str:
    file = root / path
    return file.read_text(encoding="utf-8") if file.is_file() else ""


# Rules: each yields one sentence for each finding.


def pinned_actions(root: Path) -> Iterator[str]:
    for path in sorted([*root.glob(".github/workflows/*.yml"), *root.glob("action.yml")]):
        for line in path.read_text(encoding="utf-8").splitlines():
            used = re.match(r"\s*(?:- )?uses: (.*)", line)
            if used and not used[1].startswith("./") and not PIN.fullmatch(used[1]):
                yield f"{path.name}: `{used[1]}` is not a commit with its version"


def pinned_packages(root: Path) -> Iterator[str]:
    for place, script in scripts(root):
        text = re.sub(r"\\\n", " ", script)
        for command in re.findall(r"[^\n;&|]*\b(?:pip3?|pip\[@\]\}\")\s+[^\n;&|]*", text):
            # `pip=(` is the beginning of a command, whose ends are checked.
            installs = re.search(r"\binstall\b|-r ", command) and "pip=(" not in command
            if installs and not re.search(r"--require-hashes|--no-index", command):
                yield f"{place}: `{command.strip()}` does not check hashes"
        if re.search(r"\b(?:curl|wget)\b", text):
            yield f"{place}: downloads a file without a hash"
        yield from (
            f"{place}: `{package}` is not an exact version"
            for package in re.findall(r"\b(?:npx|npm (?:install|i)|uvx|pipx run)\b\s*(?:-\S+\s+)*(\S*)", text)
            if not re.search(r"@\d+\.\d+\.\d+$|==\d", package)
        )


def locks(root: Path) -> Iterator[str]:
    paths = sorted((root / "requirements").glob("*.txt"))
    if "tools.txt" not in [path.name for path in paths]:
        yield "requirements/tools.txt is missing"
    for path in paths:
        text = re.sub(r" \\\n\s+", " ", path.read_text(encoding="utf-8"))
        for line in text.splitlines():
            if not line.startswith("#") and not re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line):
                yield f"{path.name}: `{line[:40]}` has no exact version with a hash"


def pinned_hooks(root: Path) -> Iterator[str]:
    for hook in parse(read(root, ".pre-commit-hooks.yaml")) or ():
        for package in hook.get("additional_dependencies", ()):
            if "==" not in package:
                yield f"{hook['id']}: `{package}` is not an exact version"


def pinned_image(root: Path) -> Iterator[str]:
    text = read(root, DOCKERFILE)
    if not text:
        return
    arguments = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE))
    for base in re.findall(r"^FROM (\S+)", text, re.MULTILINE):
        resolved = re.sub(r"\$\{(\w+)\}", lambda name: arguments.get(name[1], ""), base)
        if not re.search(r"@sha256:[0-9a-f]{64}$", resolved):
            yield f"Dockerfile: `{base}` has no digest"
    if re.findall(r"^USER (\S+)", text, re.MULTILINE)[-1:] in ([], ["root"], ["0"], ["0:0"]):
        yield "Dockerfile: the server runs as root"
    yield from (
        f"Dockerfile: `{line}` sets a credential"
        for line in re.findall(r"^(?:ENV|ARG) .*(?:TOKEN|SECRET|PASSWORD|_KEY).*$", text, re.MULTILINE | re.IGNORECASE)
    )


def permissions(root: Path) -> Iterator[str]:
    for name, workflow in workflows(root).items():
        if workflow.get("permissions") != {}:
            yield f"{name}: `permissions` must be {{}}"
    for name, job, content in jobs(root):
        granted = content.get("permissions")
        if not isinstance(granted, dict):
            yield f"{name}: {job} has no permissions of its own"
            continue
        for scope, level in granted.items():
            if level == "write" and not re.fullmatch(WRITES.get(scope, "-"), job):
                yield f"{name}: {job} may write {scope}"
        can_write = "write" in granted.values()
        steps = content["steps"]
        if can_write and any(step.get("uses", "").startswith("actions/checkout@") for step in steps):
            yield f"{name}: {job} may write, and checks out code"
        if can_write and any(re.search(r"\b(?:pip|npm|npx|nox|uvx?)\b", without_upload(step)) for step in steps):
            yield f"{name}: {job} may write, and runs packages"


def without_upload(step: dict[str, Any]) -> str:
    """Return the script of a step without uploads of a built package to npm, which run none of its scripts."""
    return re.sub(r'npm publish "\./[^"]*" --ignore-scripts\b', "", step.get("run", ""))


def dangerous_workflows(root: Path) -> Iterator[str]:
    for name, workflow in workflows(root).items():
        for trigger in workflow[True]:  # type: ignore[index]  # `on`
            if trigger in {"pull_request_target", "workflow_run", "issue_comment", "issues", "discussion"}:
                yield f"{name}: `{trigger}` runs with rights for a stranger's text"
    for place, script in scripts(root):
        if "${{" in script:
            yield f"{place}: an expression is executed as a part of a script"
    for name, job, content in jobs(root):
        for step in content["steps"]:
            is_checkout = step.get("uses", "").startswith("actions/checkout@")
            if is_checkout and step.get("with", {}).get("persist-credentials") is not False:
                yield f"{name}: {job} leaves its token in the checkout"
        if "timeout-minutes" not in content:
            yield f"{name}: {job} has no time limit"


def needs(workflow: Workflow, job: str) -> set[str]:
    """Return the jobs that a job waits for, directly or not."""
    named = workflow["jobs"][job].get("needs", [])
    direct = {named} if isinstance(named, str) else set(named)
    return direct.union(*(needs(workflow, each) for each in direct))


Step = dict[str, Any]
Test = Callable[[Step], bool]


def runs(pattern: str) -> Test:
    return lambda step: re.search(pattern, step.get("run", "")) is not None


def uses(action: str, **settings: str) -> Test:
    """Return whether a step uses an action, with patterns of inputs; an empty pattern is an absent input."""
    return lambda step: (
        step.get("uses", "").startswith(f"{action}@")
        and all(
            re.search(pattern, str(step["with"].get(name.replace("_", "-"), ""))) for name, pattern in settings.items()
        )
    )


def jobs_with(workflow: Workflow, *tests: Test) -> set[str]:
    """Return the jobs with a step that passes one of the tests."""
    return {name for name, job in workflow["jobs"].items() for step in job["steps"] for test in tests if test(step)}


UPLOAD: Final = uses("pypa/gh-action-pypi-publish")
NPM_UPLOAD: Final = runs(r"\bnpm publish\b")
BEFORE: Final[Mapping[str, Test]] = {
    "the signature of the tag is not checked": runs(r"\bverify-tag\b"),
    "the build is not repeated and compared": runs(r"sha256sum \./.*\* \| diff"),
    "there is no SLSA provenance": uses("actions/attest", subject_path=r"dist/\*\s", sbom_path=r"^$"),
    "there is no attestation of the SBOM": uses("actions/attest", subject_path=r"dist/", sbom_path=r"\.cdx\.json$"),
    "no SBOM is written": runs(r"nox -s .*\bsbom\b"),
    "the wheel is not tested": runs(r"nox -s release"),
    "known vulnerabilities are not looked up": runs(r"nox -s audit"),
}
"""Finding -> the step that every upload must wait for."""


def releases(root: Path) -> Iterator[str]:
    workflow = workflows(root).get("release.yml")
    if workflow is None:
        yield "there is no workflow for releases"
        return
    published = jobs_with(workflow, UPLOAD, NPM_UPLOAD, runs("gh release create"))
    if len(published) < 2:
        yield "a release must be uploaded to PyPI and to GitHub"
    for finding, test in BEFORE.items():
        if any(not jobs_with(workflow, test) & needs(workflow, job) for job in published):
            yield finding
    for name in jobs_with(workflow, UPLOAD, NPM_UPLOAD):
        job = workflow["jobs"][name]
        if not job.get("environment"):
            yield f"{name} needs no approval: it has no environment"
        for step in filter(NPM_UPLOAD, job["steps"]):
            if "--provenance" not in step["run"]:
                yield "the upload to npm has no provenance"
            if "secrets." in str(step) or "NODE_AUTH_TOKEN" in str(step):
                yield "the upload to npm uses a token"
        for step in filter(UPLOAD, job["steps"]):
            if step.get("with", {}).get("attestations") is not True:
                yield "the upload to PyPI has no attestations"
            if "password" in step.get("with", {}):
                yield "the upload to PyPI uses a password"
    if "cyclonedx-py" not in read(root, "noxfile.py"):
        yield "no SBOM is written"
    if "SOURCE_DATE_EPOCH" not in read(root, "noxfile.py"):
        yield "the time in the archives is not fixed"
    if not (root / ".github" / "allowed_signers").is_file():
        yield "no file names the keys of tags"


def updates(root: Path) -> Iterator[str]:
    content = parse(read(root, ".github/dependabot.yml")) or {"updates": []}
    found = {entry["package-ecosystem"] for entry in content["updates"]}
    yield from (f"dependabot.yml does not update {name}" for name in ("github-actions", "pip") if name not in found)


def checks(root: Path) -> Iterator[str]:
    workflow = workflows(root).get("ci.yml")
    if workflow is None or "pull_request" not in workflow[True]:  # type: ignore[index]  # `on`
        yield "changes are not tested"
    elif not jobs_with(workflow, runs("nox -s audit")):
        yield "known vulnerabilities are not looked up in changes"


def policy(root: Path) -> Iterator[str]:
    if "Report a vulnerability" not in read(root, "SECURITY.md"):
        yield "SECURITY.md does not say how to report"


def repository_alone(root: Path) -> Iterator[str]:
    """Yield findings that a new project cannot avoid: a license, fuzzing, rules of branches."""
    if "Permission is hereby granted" not in read(root, "LICENSE"):
        yield "there is no licence"
    if "threat-model.md" not in read(root, "SECURITY.md"):
        yield "SECURITY.md does not name the threat model"
    if not re.search(r"^def fuzz\(", read(root, "noxfile.py"), re.MULTILINE):
        yield "nothing is fuzzed"
    if "protect the branch" not in read(root, "CONTRIBUTING.md").lower():
        yield "the protection of branches is not documented"
    if not re.search(r"--session audit", read(root, ".ci/run")):
        yield ".ci/run does not look up known vulnerabilities"
    if "tools" not in tomllib.loads(read(root, "pyproject.toml"))["dependency-groups"]:
        yield "the tools of a release are not a dependency group"


RULES: Final = (
    *(pinned_actions, pinned_packages, locks, pinned_hooks, pinned_image, permissions, dangerous_workflows),
    *(releases, updates, checks, policy),
)
"""The rules for every project."""


def findings(root: Path) -> list[str]:
    return [finding for rule in RULES for finding in rule(root)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that `toolmason init` has just created, with everything."""
    directory = tmp_path_factory.mktemp("supply") / "notes"
    options = ["--ci", "github", "--docker", "--pre-commit", "--bundle", "--registry", "io.github.ada"]
    assert CliRunner().invoke(toolmason, ["init", str(directory), *options]).exit_code == 0
    return directory


def test_the_repository_has_no_findings() -> None:
    assert [*findings(ROOT), *repository_alone(ROOT)] == []


def test_a_new_project_has_no_findings(project: Path) -> None:
    assert findings(project) == []


CI: Final = ".github/workflows/ci.yml"
RELEASE: Final = ".github/workflows/release.yml"
INSTALL: Final = "--require-hashes --only-binary=:all: -r requirements/tools.txt"

MUTATIONS: Final = [
    # In this repository and in a new project: file, text (a pattern), replacement, finding
    (CI, r"checkout@[0-9a-f]{40} # v7.0.1", "checkout@v7", "`actions/checkout@v7` is not a commit"),
    (CI, r"checkout@[0-9a-f]{40} # v7.0.1", "checkout@3d3c42e", "`actions/checkout@3d3c42e` is not a commit"),
    (CI, r"(setup-python@[0-9a-f]{40}) # v7.0.0", r"\1", "is not a commit with its version"),
    (RELEASE, r"publish@[0-9a-f]{40} # v1.14.1", "publish@release/v1", "`pypa/gh-action-pypi-publish@release/v1`"),
    (CI, re.escape(INSTALL), "nox", "`python -m pip install nox` does not check hashes"),
    (CI, re.escape(INSTALL), "-r requirements/tools.txt", "does not check hashes"),
    (CI, r"- run: nox -s audit", "- run: curl https://example.com/a | sh\n      - run: nox -s audit", "without a hash"),
    (CI, r"- run: nox -s audit", "- run: npx --yes zx@8\n      - run: nox -s audit", "`zx@8` is not an exact version"),
    (CI, r"- run: nox -s audit", "- run: uvx ruff\n      - run: nox -s audit", "`ruff` is not an exact version"),
    (CI, r"permissions: \{\}", "permissions: write-all", "ci.yml: `permissions` must be {}"),
    (CI, r"permissions: \{\}\n", "", "ci.yml: `permissions` must be {}"),
    (CI, r"    permissions:\n      contents: read\n", "", "has no permissions of its own"),
    (CI, r"contents: read", "contents: write", "may write contents"),
    (RELEASE, r"contents: read", "packages: write", "may write packages"),
    (RELEASE, r"id-token: write", "id-token: write\n      contents: write", "may write contents"),
    (CI, r"  pull_request:", "  pull_request_target:", "`pull_request_target` runs with rights"),
    (CI, r"  pull_request:", "  workflow_run:", "changes are not tested"),
    (CI, r"run: nox -s audit", "run: echo ${{ github.event.pull_request.title }}", "an expression is executed"),
    (RELEASE, r"(run: nox -s build)\b", r"\1 -- ${{ github.ref_name }}", "release.yml: rebuild: an expression"),
    (CI, r"persist-credentials: false", "persist-credentials: true", "leaves its token in the checkout"),
    (CI, r"        with:\n          persist-credentials: false\n", "", "leaves its token in the checkout"),
    (CI, r"    timeout-minutes: \d+\n", "", "has no time limit"),
    (CI, r"- run: nox -s audit.*\n", "", "known vulnerabilities are not looked up in changes"),
    (RELEASE, r" verify-tag ", " show ", "the signature of the tag is not checked"),
    (RELEASE, r"    needs: tag\n", "", "the signature of the tag is not checked"),
    (RELEASE, r"needs: \[build, rebuild\]", "needs: build", "the build is not repeated and compared"),
    (RELEASE, r"sha256sum \./.*\* \| diff .*", "true", "the build is not repeated and compared"),
    (RELEASE, r"          sbom-path: .*\n", "", "there is no attestation of the SBOM"),
    (RELEASE, r"subject-path: \|\n.*\n.*\n", "subject-path: README.md\n", "there is no SLSA provenance"),
    (RELEASE, r"nox -s (.*)sbom", r"nox -s \1", "no SBOM is written"),
    (RELEASE, r"- run: nox -s release\n", "", "the wheel is not tested"),
    (RELEASE, r"    environment: pypi\n", "", "publish needs no approval"),
    (RELEASE, r"attestations: true", "attestations: false", "the upload to PyPI has no attestations"),
    (RELEASE, r"attestations: true", "attestations: true\n          password: x", "uses a password"),
    (RELEASE, r"    needs: attest\n", "", "there is no SLSA provenance"),
    (RELEASE, None, None, "there is no workflow for releases"),
    (CI, None, None, "changes are not tested"),
    (".github/dependabot.yml", r"github-actions", "npm", "dependabot.yml does not update github-actions"),
    (".github/dependabot.yml", None, None, "dependabot.yml does not update pip"),
    (".github/allowed_signers", None, None, "no file names the keys of tags"),
    ("SECURITY.md", None, None, "SECURITY.md does not say how to report"),
    ("SECURITY.md", r"Report a vulnerability", "Contact us", "SECURITY.md does not say how to report"),
    ("noxfile.py", r"cyclonedx-py", "true", "no SBOM is written"),
    ("noxfile.py", r"SOURCE_DATE_EPOCH", "EPOCH", "the time in the archives is not fixed"),
    ("requirements/tools.txt", r"nox==\S+", "nox>=2025", "tools.txt: `nox>=2025"),
    ("requirements/tools.txt", r"(nox==\S+) \\\n(    --hash=.*\n)+", "\\1\n", "tools.txt: `nox=="),
    ("requirements/tools.txt", None, None, "requirements/tools.txt is missing"),
    (DOCKERFILE, r"@sha256:\w+", "", "`${PYTHON_IMAGE}` has no digest"),
    (DOCKERFILE, r"FROM .*", "FROM python:latest", "`python:latest` has no digest"),
    (DOCKERFILE, r"USER .*\n", "", "the server runs as root"),
    (DOCKERFILE, r"USER .*", "USER root", "the server runs as root"),
    (DOCKERFILE, r"USER ", "ENV SERVER_TOKEN=demo\nUSER ", "`ENV SERVER_TOKEN=demo` sets a credential"),
    (DOCKERFILE, r"--require-hashes --only-binary=:all: ", "", "Dockerfile: `RUN python -m pip install"),
]
ONLY_HERE: Final = [
    ("LICENSE", None, None, "there is no licence"),
    ("SECURITY.md", r"docs/threat-model.md", "docs", "SECURITY.md does not name the threat model"),
    ("noxfile.py", r"def fuzz\(", "def other(", "nothing is fuzzed"),
    ("CONTRIBUTING.md", r"(?i)protect the branch", "", "the protection of branches is not documented"),
    ("pyproject.toml", r"(?m)^tools = ", "others = ", "the tools of a release are not a dependency group"),
    (".ci/run", r"--require-hashes --only-binary=:all: ", "", ".ci/run: "),
    (RELEASE, r"    environment: pypi-toolkit\n", "", "publish-toolkit needs no approval"),
    (RELEASE, r"    environment: pypi-schema\n", "", "publish-schema needs no approval"),
    (RELEASE, r"    environment: npm\n", "", "publish-npm needs no approval"),
    (RELEASE, r" --provenance", "", "the upload to npm has no provenance"),
    (RELEASE, r"- name: Upload\n", "- name: Upload\n        env: {NODE_AUTH_TOKEN: x}\n", "to npm uses a token"),
    (RELEASE, r" --ignore-scripts", "", "publish-npm may write, and runs packages"),
    (".ci/run", r"--session audit", "--session lint", ".ci/run does not look up known vulnerabilities"),
    ("action.yml", r"--require-hashes ", "", "action.yml: "),
    (".pre-commit-hooks.yaml", r'"click==\S+"', '"click"', "`click` is not an exact version"),
]


def mutate(root: Path, path: str, old: str | None, new: str | None) -> None:
    """Replace every match in a file, or remove the file."""
    file = root / path
    if old is None or new is None:
        file.unlink()
        return
    text = file.read_text(encoding="utf-8")
    changed = re.sub(old, new, text)
    assert changed != text, "the mutation changes nothing"
    file.write_text(changed, encoding="utf-8")


def copy_of_the_repository(target: Path) -> Path:
    for path in FILES:
        source = ROOT / path
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / path, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / path)
    return target


@pytest.mark.parametrize(("path", "old", "new", "finding"), MUTATIONS, ids=[row[3][:50] for row in MUTATIONS])
def test_a_removed_property_is_a_finding(
    path: str, old: str | None, new: str | None, finding: str, *, project: Path, tmp_path: Path
) -> None:
    roots = [copy_of_the_repository(tmp_path / "repository")]
    roots.append(Path(shutil.copytree(project, tmp_path / "project")))
    for root in roots:
        mutate(root, path, old, new)
        assert any(finding in found for found in findings(root)), findings(root)


@pytest.mark.parametrize(("path", "old", "new", "finding"), ONLY_HERE, ids=[row[3][:50] for row in ONLY_HERE])
def test_a_removed_property_of_the_repository_is_a_finding(
    path: str, old: str | None, new: str | None, finding: str, tmp_path: Path
) -> None:
    root = copy_of_the_repository(tmp_path)
    mutate(root, path, old, new)
    found = [*findings(root), *repository_alone(root)]
    assert any(finding in each for each in found), found


def test_every_action_is_used_in_one_version_here_and_in_new_projects(project: Path) -> None:
    paths = [path for root in (ROOT, project) for path in root.glob(".github/workflows/*.yml")]
    pins = {pin for path in paths for pin in PIN.findall(path.read_text(encoding="utf-8"))}

    assert len(pins) == len({action for action, *_ in pins}) > 5


@pytest.mark.parametrize("is_ours", [True, False], ids=["repository", "project"])
def test_zizmor_has_no_findings_even_as_a_pedant(is_ours: bool, project: Path) -> None:
    root = ROOT if is_ours else project
    program = str(Path(sys.executable).with_name("zizmor"))
    command = [
        program,
        "--offline",
        "--no-progress",
        "--persona=pedantic",
        ".github",
        *(["action.yml"] if is_ours else []),
    ]
    result = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "No findings to report" in result.stdout + result.stderr


@pytest.mark.parametrize("is_ours", [True, False], ids=["repository", "project"])
def test_workflows_and_dependabot_fit_the_schemas_of_github(is_ours: bool, project: Path) -> None:
    root = (ROOT if is_ours else project) / ".github"
    program = str(Path(sys.executable).with_name("check-jsonschema"))
    for schema, paths in (
        ("vendor.github-workflows", sorted((root / "workflows").glob("*.yml"))),
        ("vendor.dependabot", [root / "dependabot.yml"]),
    ):
        command = [program, "--builtin-schema", schema, *map(str, paths)]
        result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("is_ours", [True, False], ids=["repository", "project"])
def test_workflows_run_sessions_that_exist(is_ours: bool, project: Path) -> None:
    root = ROOT if is_ours else project
    listed = subprocess.run(
        [sys.executable, "-m", "nox", "--list"], cwd=root, capture_output=True, encoding="utf-8", check=True
    )
    sessions = set(re.findall(r"^[*-] (\S+)", listed.stdout, re.MULTILINE))
    used = {
        session
        for _, script in scripts(root)
        for command in re.findall(r"nox (?:-s|--session) ((?:[a-z_]+ ?)+)", script)
        for session in command.split()
        if session != "versions"  # has one name for each end of the ranges
    }

    assert used >= {"audit", "build", "release", "sbom"}
    assert used <= sessions
