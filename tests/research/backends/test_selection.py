from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from provider_apis import OpenAIApi
from toolmason_runtime import ToolError

from workbench_research.backends import selection
from workbench_research.backends.keys import OFFLINE, RESEARCH, URL, URL_KEY
from workbench_research.backends.models import Provider, providers
from workbench_research.backends.selection import choose, readiness

KEY = "a-key-0123456789abcdef"
CLOSED = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    put_local(monkeypatch, {})


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIApi]:
    with OpenAIApi() as api:
        put_local(monkeypatch, {"ollama": api.url})
        yield api


def put_local(monkeypatch: pytest.MonkeyPatch, urls: dict[str, str]) -> None:
    """Let the local providers be at these addresses, and the others not answer."""
    table: dict[str, Provider] = {
        name: replace(provider, url=urls.get(name, CLOSED)) if provider.local else provider
        for name, provider in providers().items()
    }
    monkeypatch.setattr(selection, "providers", lambda: table)


def problem(environ: dict[str, str]) -> str:
    with pytest.raises(ToolError) as raised:
        choose(environ)
    assert raised.value.code == "AUTH_MISSING"
    return raised.value.message


@pytest.mark.parametrize(
    ("environ", "name", "flash"),
    [
        ({"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY}, "gemini", ("gemini-3.8-flash", "gemini-2.5-flash")),
        ({"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}, "anthropic", ("claude-haiku-5-5", "claude-haiku-4-5")),
        ({"DEEPSEEK_API_KEY": KEY}, "deepseek", ("deepseek-v4-flash",)),
        ({"AWS_BEARER_TOKEN_BEDROCK": KEY}, "bedrock", ("global.anthropic.claude-haiku-4-5-20251001-v1:0",)),
        ({"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY, RESEARCH: "openai"}, "openai", ("gpt-6-luna", "gpt-5.6-luna")),
        ({"OPENAI_API_KEY": KEY, RESEARCH: " OpenAI/gpt-9 "}, "openai", ("gpt-9",)),
        ({"ANTHROPIC_API_KEY": KEY, RESEARCH: "anthropic/gemini-2.5-pro"}, "anthropic", ("claude-opus-5-5",)),
        ({RESEARCH: "ollama/qwen3:8b"}, "ollama", ("qwen3:8b",)),
        ({RESEARCH: "ollama/library/qwen3"}, "ollama", ("library/qwen3",)),
        ({RESEARCH: "openrouter/meta/llama", "OPENROUTER_API_KEY": KEY}, "openrouter", ("meta/llama",)),
        ({RESEARCH: "ollama/qwen3:8b", OFFLINE: "1", "OPENAI_API_KEY": KEY}, "ollama", ("qwen3:8b",)),
        ({RESEARCH: "openai/m", URL: "http://127.0.0.1:9/v1", OFFLINE: "1"}, "openai", ("m",)),
        ({"AWS_SECRET_ACCESS_KEY": KEY, RESEARCH: "bedrock/amazon.nova"}, "bedrock", ("amazon.nova",)),
        (
            {"ANTHROPIC_API_KEY": KEY, "WORKBENCH_FLASH_MODELS": "claude-x, gemini-2.5-flash,auto"},
            "anthropic",
            ("claude-x", "claude-haiku-5-5", "claude-haiku-4-5"),
        ),
    ],
)
def test_the_named_provider_or_the_first_with_a_key_is_asked(
    environ: dict[str, str], name: str, flash: tuple[str, ...]
) -> None:
    selected = choose(environ)

    assert selected.provider.name == name
    assert selected.models("flash", environ) == flash
    assert selected.backend(environ).name == name


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "set a key, such as GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        ({"AWS_SECRET_ACCESS_KEY": KEY}, "set a key"),  # other programs need it
        ({RESEARCH: "chatgpt/gpt-6"}, "'chatgpt', which is not a provider: use gemini, anthropic, openai"),
        (
            {RESEARCH: "openai", "GEMINI_API_KEY": KEY},
            "set OPENAI_API_KEY (create a key at https://platform.openai.com/api-keys)",
        ),
        ({RESEARCH: "ollama"}, "must name a model as well: ollama/MODEL"),
        ({RESEARCH: "azure/d", "AZURE_OPENAI_API_KEY": KEY}, "set WORKBENCH_RESEARCH_URL to the URL of the server"),
        ({OFFLINE: "1", "GEMINI_API_KEY": KEY}, "WORKBENCH_RESEARCH_OFFLINE allows only servers on this machine"),
        ({RESEARCH: "gemini", OFFLINE: "1", "GEMINI_API_KEY": KEY}, "WORKBENCH_RESEARCH_OFFLINE allows only"),
        ({URL: "https://llm.example.com", URL_KEY: KEY}, "set WORKBENCH_RESEARCH to provider/model"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://llm.example.com"}, "OPENAI_API_KEY is not sent there"),
    ],
)
def test_without_a_provider_the_message_has_the_next_step(environ: dict[str, str], message: str) -> None:
    assert message in problem(environ)
    assert KEY not in problem(environ)


def test_a_local_server_is_proposed_and_not_used(ollama: OpenAIApi) -> None:
    assert "Ollama answers on this machine: set WORKBENCH_RESEARCH=ollama/qwen3:8b to use it" in problem({})
    assert "must name a model as well: ollama/qwen3:8b" in problem({RESEARCH: "ollama"})
    assert [request.path for request in ollama.requests] == ["/v1/models"] * 2
    assert "authorization" not in ollama.requests[0].headers


@pytest.mark.parametrize("body", [{}, {"data": None}, {"data": [1]}, {"data": [{"id": ""}]}, {"object": "list"}])
def test_another_program_at_the_port_is_not_proposed(
    ollama: OpenAIApi, body: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    from provider_apis import JsonReply

    monkeypatch.setattr(ollama, "other", lambda _: JsonReply(200, body))

    assert "Ollama" not in problem({})


@pytest.mark.parametrize(
    ("library", "environ", "extra"),
    [
        ("google.genai", {"GEMINI_API_KEY": KEY}, "research-gemini"),
        ("anthropic", {"ANTHROPIC_API_KEY": KEY}, "research-anthropic"),
        ("openai", {"MISTRAL_API_KEY": KEY}, "research-openai"),
        ("botocore", {"AWS_BEARER_TOKEN_BEDROCK": KEY}, "research-bedrock"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    library: str, environ: dict[str, str], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # to Python, a module that is not installed

    assert f"pip install 'toolmason[{extra}]'" in problem(environ)


def test_a_provider_with_its_library_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)

    assert choose({"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY}).provider.name == "openai"


@pytest.mark.usefixtures("ollama")
def test_each_provider_has_its_state_and_next_step() -> None:
    states = {state.name: state for state in readiness({"OPENAI_API_KEY": KEY, "AZURE_OPENAI_API_KEY": KEY})}

    assert list(states) == list(providers())
    assert (states["openai"].is_ready, states["openai"].detail) == (True, "key in OPENAI_API_KEY")
    assert states["gemini"].step.startswith("set GEMINI_API_KEY (create a key at https://aistudio.google.com")
    assert "RESOURCE.openai.azure.com" in states["azure"].step
    assert states["ollama"].is_ready
    assert states["ollama"].step == "set WORKBENCH_RESEARCH=ollama/qwen3:8b to use it"
    assert (states["vllm"].is_ready, states["vllm"].step) == (False, "start its server")
    assert all(state.is_ready or state.step for state in states.values())
    assert KEY not in repr(states)


@pytest.mark.usefixtures("ollama")
def test_offline_only_servers_on_this_machine_are_ready() -> None:
    environ = {name: KEY for provider in providers().values() for name in provider.keys} | {OFFLINE: "1"}

    assert [state.name for state in readiness(environ) if state.is_ready] == ["ollama"]


def test_no_library_is_imported_before_a_question() -> None:
    code = (
        "import sys\n"
        "from workbench_research.backends.selection import choose\n"
        "for name in ('gemini', 'anthropic', 'openai', 'bedrock'):\n"
        "    environ = {'WORKBENCH_RESEARCH': name, 'WORKBENCH_RESEARCH_URL': 'http://127.0.0.1:9'}\n"
        "    choose(environ).backend(environ)\n"
        "names = ('google.genai', 'anthropic', 'openai', 'botocore', 'httpx', 'httpx2', 'keyring', 'tenacity')\n"
        "print([name for name in names if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert (result.stdout.strip(), result.stderr) == ("[]", "")
