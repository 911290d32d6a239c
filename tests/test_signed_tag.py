"""The release workflow accepts a tag only if a maintainer signed it: the step runs in real repositories."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the workflow runs on Linux")


def step() -> dict[str, Any]:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    (step,) = [step for step in workflow["jobs"]["tag"]["steps"] if "run" in step]
    return dict(step)


class Repository:
    """An origin with a branch `main` that names one maintainer, and the checkout of a job."""

    def __init__(self, directory: Path, signers: str | None) -> None:
        self.directory = directory
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "HOME": str(directory),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.work = directory / "work"
        self.run("git", "init", "--quiet", "--initial-branch=main", str(self.work), cwd=directory)
        for name, value in {"user.name": "Ada", "user.email": "ada@example.org", "gpg.format": "ssh"}.items():
            self.git("config", name, value)
        self.keys = {name: self._key(name) for name in ("ada", "mallory")}
        if signers is not None:
            self.write_signers(signers)
        self.commit("First")

    def _key(self, name: str) -> str:
        path = self.directory / name
        self.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path), cwd=self.directory)
        return " ".join(path.with_suffix(".pub").read_text(encoding="utf-8").split()[:2])

    def write_signers(self, text: str) -> None:
        file = self.work / ".github" / "allowed_signers"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.format(**self.keys), encoding="utf-8")

    def run(self, *command: str, cwd: Path) -> None:
        subprocess.run(command, cwd=cwd, env=self.environ, capture_output=True, check=True)

    def git(self, *arguments: str) -> None:
        self.run("git", *arguments, cwd=self.work)

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def sign(self, tag: str, key: str, *commit: str) -> None:
        self.git("-c", f"user.signingKey={self.directory / key}", "tag", "--sign", tag, "--message", tag, *commit)

    def check(self, tag: str) -> subprocess.CompletedProcess[str]:
        """Check out the tag as a job does, and run the step."""
        checkout = self.directory / "checkout"
        self.run("git", "clone", "--quiet", str(self.work), str(checkout), cwd=self.directory)
        self.run("git", "checkout", "--quiet", tag, cwd=checkout)
        variables = {"TAG": tag, "BRANCH": "main", "RUNNER_TEMP": str(self.directory)}
        command = ["bash", "-e", "-c", step()["run"]]
        return subprocess.run(
            command,
            cwd=checkout,
            env={**self.environ, **variables},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


SIGNERS: Final = 'ada@example.org namespaces="git" {ada}\n'


def test_the_step_gets_its_values_from_variables() -> None:
    assert step()["env"] == {
        "TAG": "${{ github.ref_name }}",
        "BRANCH": "${{ github.event.repository.default_branch }}",
    }


@pytest.mark.parametrize("is_newest", [True, False], ids=["newest commit", "earlier commit"])
def test_a_tag_that_a_maintainer_signed_is_accepted(is_newest: bool, tmp_path: Path) -> None:
    repository = Repository(tmp_path, SIGNERS)
    repository.sign("v1.0.0", "ada")
    if not is_newest:
        repository.commit("Second")

    result = repository.check("v1.0.0")

    assert result.returncode == 0, result.stderr
    assert "Good" in result.stdout + result.stderr


def lightweight(repository: Repository) -> None:
    repository.git("tag", "v1.0.0")


def unsigned(repository: Repository) -> None:
    repository.git("tag", "--annotate", "v1.0.0", "--message", "v1.0.0")


def by_a_stranger(repository: Repository) -> None:
    repository.sign("v1.0.0", "mallory")


def with_a_key_that_the_tag_brings(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "other")
    repository.write_signers('mallory@example.org namespaces="git" {mallory}\n')
    repository.commit("Add a key")
    repository.sign("v1.0.0", "mallory")
    repository.git("checkout", "--quiet", "main")


def outside_of_the_branch(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "other")
    repository.commit("Not reviewed")
    repository.sign("v1.0.0", "ada")
    repository.git("checkout", "--quiet", "main")


def renamed(repository: Repository) -> None:
    """Move the signed tag of an old release to a new name, as a lightweight tag of the tag's commit."""
    repository.sign("v0.9.0", "ada")
    repository.git("tag", "v1.0.0", "v0.9.0^{commit}")


def under_another_name(repository: Repository) -> None:
    """Let a new name point to the signed tag object of an old release."""
    repository.sign("v0.9.0", "ada")
    repository.git("update-ref", "refs/tags/v1.0.0", "refs/tags/v0.9.0")


@pytest.mark.parametrize(
    ("create", "signers"),
    [
        (lightweight, SIGNERS),
        (unsigned, SIGNERS),
        (by_a_stranger, SIGNERS),
        (with_a_key_that_the_tag_brings, SIGNERS),
        (outside_of_the_branch, SIGNERS),
        (renamed, SIGNERS),
        (under_another_name, SIGNERS),
        (lambda repository: repository.sign("v1.0.0", "ada"), 'ada@example.org namespaces="file" {ada}\n'),
        (lambda repository: repository.sign("v1.0.0", "ada"), 'ada@example.org valid-before="20200101" {ada}\n'),
        (lambda repository: repository.sign("v1.0.0", "ada"), "# nobody yet\n"),
        (lambda repository: repository.sign("v1.0.0", "ada"), None),
    ],
    ids=[
        *("lightweight", "unsigned", "stranger", "own key", "other branch", "renamed", "other name"),
        *("other namespace", "expired", "no keys", "no file"),
    ],
)
def test_other_tags_are_refused(create: Any, signers: str | None, tmp_path: Path) -> None:
    repository = Repository(tmp_path, signers)
    create(repository)

    assert repository.check("v1.0.0").returncode != 0


def test_new_projects_check_tags_in_the_same_way() -> None:
    template = ROOT / "templates" / "toolmason_templates" / "init" / "release.yml.jinja"
    lines = [f"          {line}\n" if line else "\n" for line in step()["run"].splitlines()]

    assert "".join(lines) in template.read_text(encoding="utf-8")
