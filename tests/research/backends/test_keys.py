from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import keyring
import keyring.backend
import keyring.errors
import pytest
from provider_apis import Break, Fail, OpenAIApi, Say
from rigs import KEY, Rig

from workbench_research.backends.keys import (
    KEY_STORE,
    NO_KEY,
    OFFLINE,
    RESEARCH,
    URL,
    URL_KEY,
    EndpointError,
    endpoint,
    find_key,
)
from workbench_research.backends.models import providers
from workbench_research.backends.selection import choose

OWN = "own-key-0123456789abcdef"


class Store(keyring.backend.KeyringBackend):
    """A key store in memory."""

    priority = 1.0

    def __init__(self, keys: dict[str, str], *, is_locked: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.keys, self.is_locked = keys, is_locked

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise keyring.errors.KeyringLocked("it is locked")
        return self.keys.get(username) if service == KEY_STORE else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def store() -> Iterator[Store]:
    before = keyring.get_keyring()
    store = Store({})
    keyring.set_keyring(store)
    yield store
    keyring.set_keyring(before)


@pytest.mark.parametrize(
    ("name", "settings", "url", "key"),
    [
        ("openai", {"OPENAI_API_KEY": KEY}, "https://api.openai.com/v1", KEY),
        ("openai", {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://api.openai.com/v1/"}, None, KEY),
        ("gemini", {"GOOGLE_API_KEY": OWN, "GEMINI_API_KEY": KEY}, None, KEY),
        ("azure", {"AZURE_OPENAI_API_KEY": KEY, URL: "https://me.openai.azure.com/openai/v1"}, None, KEY),
        ("bedrock", {"AWS_SECRET_ACCESS_KEY": KEY, "AWS_ACCESS_KEY_ID": "A"}, "", KEY),
        ("openai", {"OPENAI_API_KEY": KEY, URL: "https://llm.example.com/v1", URL_KEY: OWN}, None, OWN),
        ("openai", {"OPENAI_API_KEY": KEY, URL: "http://127.0.0.1:9/v1"}, None, NO_KEY),
        ("openai", {"OPENAI_API_KEY": KEY, URL: "http://[::1]:9/v1"}, None, NO_KEY),
        ("ollama", {"OPENAI_API_KEY": KEY}, "http://127.0.0.1:11434/v1", NO_KEY),
        ("vllm", {URL: "https://gpu.example.com/v1", URL_KEY: OWN}, "https://gpu.example.com/v1", OWN),
    ],
)
def test_a_key_is_sent_to_its_own_host(name: str, settings: dict[str, str], url: str | None, key: str) -> None:
    found = endpoint(providers()[name], {RESEARCH: name, **settings})

    assert found.key.value == key
    assert url is None or found.url == url
    assert key not in repr(found) or key == NO_KEY


OTHER_HOSTS = (
    "https://api.openai.com.evil.example/v1",
    "https://evil.example/api.openai.com",
    "https://api.openai.com:8443/v1",
    "https://api-openai.com/v1",
    "https://xapi.openai.com/v1",
    "https://2130706433/v1",
    "https://127.0.0.1.evil.example/v1",
    "https://localhost.evil.example",
)


@pytest.mark.parametrize("variable", [URL, "OPENAI_BASE_URL"])
@pytest.mark.parametrize("url", OTHER_HOSTS)
def test_a_key_is_not_sent_to_another_host(variable: str, url: str) -> None:
    with pytest.raises(EndpointError) as raised:
        endpoint(providers()["openai"], {RESEARCH: "openai", "OPENAI_API_KEY": KEY, variable: url})

    assert URL_KEY in str(raised.value)
    assert "OPENAI_API_KEY is not sent there" in str(raised.value)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://llm.example.com/v1", "not encrypted"),
        ("http://api.openai.com/v1", "not encrypted"),
        ("http://192.168.1.5:11434/v1", "not encrypted"),
        ("http://0.0.0.0:11434/v1", "not encrypted"),
        ("https://me:secret@api.openai.com/v1", "must not have a user"),
        ("https://api.openai.com/v1?key=secret", "must not have a user, a query"),
        ("https://api.openai.com/v1#x", "must not have a user, a query"),
        ("ftp://api.openai.com", "invalid"),
        ("file:///etc/passwd", "invalid"),
        ("api.openai.com/v1", "invalid"),
        ("https://", "invalid"),
        ("https://api.openai.com:99999/v1", "invalid"),
        ("https://[::1", "invalid"),
    ],
)
def test_a_base_url_must_be_encrypted_and_plain(url: str, reason: str) -> None:
    with pytest.raises(EndpointError, match=reason) as raised:
        endpoint(providers()["openai"], {RESEARCH: "openai", "OPENAI_API_KEY": KEY, URL: url, URL_KEY: OWN})

    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", [name for name, provider in providers().items() if not provider.local])
def test_offline_allows_only_this_machine(name: str) -> None:
    settings = {RESEARCH: name, OFFLINE: "1", URL_KEY: OWN, **dict.fromkeys(providers()[name].keys, KEY)}

    with pytest.raises(EndpointError, match=OFFLINE):
        endpoint(providers()[name], settings)
    assert endpoint(providers()[name], {**settings, URL: "http://127.0.0.1:9"}).key.value == OWN


@pytest.mark.parametrize("value", ["", "0", "false", "no", "off"])
def test_offline_can_be_switched_off(value: str) -> None:
    assert endpoint(providers()["openai"], {"OPENAI_API_KEY": KEY, OFFLINE: value}).url.startswith("https://")


def test_a_key_may_be_in_the_systems_store(store: Store) -> None:
    store.keys["GROQ_API_KEY"] = f" {KEY}\n"

    assert endpoint(providers()["groq"], {}).key.value == KEY
    assert endpoint(providers()["groq"], {"GROQ_API_KEY": OWN}).key.value == OWN


def test_without_a_key_the_message_has_the_page_of_keys(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for broken in (False, True):
        store.is_locked = broken
        with pytest.raises(EndpointError, match=r"set GROQ_API_KEY .*console\.groq\.com.*keyring set"):
            endpoint(providers()["groq"], {})
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert find_key(providers()["groq"], {}) is None


def test_a_key_is_in_no_text_of_a_question(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    rig.api.will(Fail(500, message=f"you sent {KEY}"))
    rig.api.will(Say("x"), Break())
    rig.api.will(Fail(401, message=f"you sent {KEY}"))

    error = rig.error()

    # Bedrock gets a signature instead.
    has_key = any(KEY in value for request in rig.api.asked for value in request.headers.values())
    assert has_key is (rig.name != "bedrock")
    chain = [error, error.__cause__, error.__context__]
    texts = [repr(rig.backend), str(rig.backend), *rig.reports, *map(repr, chain), *map(str, chain), str(error.details)]
    records = [logging.Formatter().format(record) for record in caplog.records]
    assert records
    assert [text for text in (*texts, *records) if KEY in text] == []


@pytest.mark.parametrize("logger", [None, "botocore", "botocore.endpoint", "botocore.parsers", "urllib3"])
def test_a_token_of_bedrock_is_in_no_record(logger: str | None, caplog: pytest.LogCaptureFixture) -> None:
    # None, not "": caplog would keep the level of the root logger under both, and restore the first change.
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger=logger)
    environ = {RESEARCH: "bedrock", URL: "https://127.0.0.1:9", URL_KEY: KEY}  # nothing listens there
    rig = Rig("bedrock", OpenAIApi(), choose(environ).backend(environ), environ)

    error = rig.error("What is in the file?")

    records = [logging.Formatter().format(record) for record in caplog.records]
    assert "connection lost" in str(error.details)
    assert [text for text in records if KEY in text or "What is in the file?" in text] == []


POISON = {
    "OPENAI_API_KEY": "poison-openai-key-1",
    "OPENAI_ADMIN_KEY": "poison-admin-key-12",
    "OPENAI_ORG_ID": "poison-organization",
    "OPENAI_PROJECT_ID": "poison-project",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/poison",
    "ANTHROPIC_API_KEY": "poison-anthropic-key",
    "ANTHROPIC_AUTH_TOKEN": "poison-anthropic-token",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/poison",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Gateway-Token: poison-gateway\nX-Other: poison-other",
    "GEMINI_API_KEY": "poison-gemini-key-1",
    "GOOGLE_API_KEY": "poison-google-key-1",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_CLOUD_PROJECT": "poison-project",
    "GOOGLE_CLOUD_LOCATION": "poison-1",
    "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9/poison",
    "AWS_ACCESS_KEY_ID": "poison-access-key",
    "AWS_SECRET_ACCESS_KEY": "poison-secret-key-1",
    "AWS_SESSION_TOKEN": "poison-session-token",
    "AWS_BEARER_TOKEN_BEDROCK": "poison-bearer-token",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9/poison",
    "AWS_PROFILE": "poison",
}


def test_variables_of_the_libraries_are_not_sent_to_another_server(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in POISON.items():
        monkeypatch.setenv(name, value)
    environ = {**POISON, **rig.environ}
    rig.backend = choose(environ).backend(environ)

    assert rig.answer().text == "Done."

    sent = [value for request in rig.api.requests for value in request.headers.values()]
    assert [value for value in sent if "poison" in value] == []
    assert any(KEY in value for value in sent) is (rig.name != "bedrock")


def test_a_local_server_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from rigs import start_rig

    with OpenAIApi() as api:
        environ = {RESEARCH: "llama.cpp/m", URL: api.url, "OPENAI_API_KEY": KEY, **POISON}
        selected = choose(environ)
        rigs = start_rig("openai", monkeypatch)
        rig = next(rigs)
        rig.backend, rig.environ = selected.backend(environ), environ

        answer = rig.answer(models=("m",))

        assert answer.usage.cost == 0.0
        assert api.asked[0].headers["authorization"] == f"Bearer {NO_KEY}"
        rigs.close()  # type: ignore[attr-defined]
