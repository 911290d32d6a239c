"""How the program would authenticate, found without running it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from workbench_handlers.model_backends.gemini_files import FOLDER
from workbench_handlers.setup.configuration import (
    Environ,
    Variables,
    assigned_in,
    home,
    is_file,
    settings,
    shown,
    user_settings,
    variables,
    variables_at_first,
)

API_KEY: Final = "api_key"
GOOGLE_LOGIN: Final = "google_login"
VERTEX_AI: Final = "vertex_ai"
COMPUTE_ADC: Final = "compute_adc"
GATEWAY: Final = "gateway"
EXTERNAL: Final = "external"
NONE: Final = "none"
UNKNOWN: Final = "unknown"

TITLES: Final = {
    API_KEY: "Gemini API key",
    GOOGLE_LOGIN: "Google sign-in",
    VERTEX_AI: "Vertex AI",
    COMPUTE_ADC: "the machine's own Google account",
    GATEWAY: "a gateway",
    EXTERNAL: "an external process",
    NONE: "none",
    UNKNOWN: "not known",
}
"""What people call each method."""

VARIABLES: Final = (
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "ANTIGRAVITY_API_KEY",
    "GEMINI_CLI_HOME",
)
"""What the server and the program behind it read of the environment to authenticate."""

KEY_PAGE: Final = "https://aistudio.google.com/app/apikey"
CONSUMERS: Final = (
    "since 2026-06-18 Gemini CLI no longer serves personal Google accounts, free or paid; if yours is one,"
    " use an API key, or `agy` with WORKBENCH_BACKEND=agy"
)
_METHODS: Final = {
    "gemini-api-key": API_KEY,
    "oauth-personal": GOOGLE_LOGIN,
    "vertex-ai": VERTEX_AI,
    "compute-default-credentials": COMPUTE_ADC,
    "cloud-shell": COMPUTE_ADC,
    "gateway": GATEWAY,
}
"""Our names for the values of `security.auth.selectedType`."""


@dataclass(frozen=True, slots=True)
class Auth:
    """How the program would authenticate.

    `configured` is None where that cannot be known from outside, as with a key in the system's keyring. `method` is one
    of the names above. `hint` says what to do or to know, and `found` what there is; neither holds a secret.
    """

    configured: bool | None
    method: str
    hint: str = ""
    found: str = ""


def find_auth(environ: Environ, folder: Path, *, backend: str = "gemini") -> Auth:
    """Say how `backend` would authenticate when it is run in `folder`. Reads a few small files."""
    return _of_agy(environ) if backend == "agy" else _of_gemini(environ, folder)


def _of_agy(environ: Environ) -> Auth:
    """It keeps its token in the system's keyring, and in a file where there is none."""
    token = home(environ) / FOLDER / "antigravity-cli" / "antigravity-oauth-token"
    if is_file(token):
        return Auth(True, GOOGLE_LOGIN, found=f"signed in ({shown(token, environ)})")
    if environ.get("ANTIGRAVITY_API_KEY"):
        return Auth(None, API_KEY, found="ANTIGRAVITY_API_KEY is set in the environment, which not every version reads")
    hint = "run `agy` once in a terminal and sign in with Google; GEMINI_API_KEY means nothing to it"
    return Auth(None, GOOGLE_LOGIN, hint, "a sign-in would be kept in the system's keyring")


def _of_gemini(environ: Environ, folder: Path) -> Auth:
    held = settings(environ)
    if held.problem:
        return Auth(False, UNKNOWN, f"{held.problem}, and Gemini CLI ends at once: mend it")
    selected = held.get("security", "auth", "selectedType")
    chosen = isinstance(selected, str) and bool(selected)
    method = _METHODS.get(selected, UNKNOWN) if chosen else _method_of(variables_at_first(environ))
    if enforced := held.get("security", "auth", "enforcedType"):
        wanted = _METHODS.get(enforced, UNKNOWN) if isinstance(enforced, str) else UNKNOWN
        if wanted != method:
            title = TITLES[wanted]
            return Auth(False, method, f"the settings of this machine allow {title} alone: run `gemini` and choose it")
    if held.get("security", "auth", "useExternal") is True and method != NONE:
        return Auth(None, EXTERNAL, found="the settings leave it to an external process")
    if method == UNKNOWN:
        where = shown(user_settings(environ), environ)
        hint = f"`security.auth.selectedType` in {where} is no method of Gemini CLI: run `gemini` and choose one"
        return Auth(False, UNKNOWN, hint)
    found = _nothing(environ) if method == NONE else _CHECKS[method](variables(environ), environ)
    if found.configured:
        return found
    # What stands in the way of the one who thought it was set up.
    unread = next((f"{text}; " for text in (held.unread, _in_project(folder, environ)) if text), "")
    return replace(found, hint=f"{unread}{found.hint}")


def _in_project(folder: Path, environ: Environ) -> str:
    """Say that a key stands where it does not count: a project must not choose whom the question is sent to."""
    for path in (folder / FOLDER / ".env", folder / ".env"):
        if folder != home(environ) and assigned_in(path).get("GEMINI_API_KEY"):
            return f"the GEMINI_API_KEY in {shown(path, environ)} is not read, being the project's"
    return ""


def _method_of(held: Variables) -> str:
    """Give the method that the variables alone lead to, in the program's own order."""
    if held.says("GOOGLE_GENAI_USE_GCA"):
        return GOOGLE_LOGIN
    if held.says("GOOGLE_GENAI_USE_VERTEXAI"):
        return VERTEX_AI
    if held.has("GOOGLE_GEMINI_BASE_URL"):
        return GATEWAY
    if held.has("GEMINI_API_KEY"):
        return API_KEY
    if held.says("CLOUD_SHELL") or held.says("GEMINI_CLI_USE_COMPUTE_ADC"):
        return COMPUTE_ADC
    return NONE


def _nothing(environ: Environ) -> Auth:
    """Nothing is chosen. There may be something that the program will not look at, which is worth saying."""
    if variables(environ).has("GOOGLE_API_KEY"):
        return Auth(False, NONE, "GOOGLE_API_KEY counts only with GOOGLE_GENAI_USE_VERTEXAI=true: set that too")
    if _credentials(environ):
        where = shown(user_settings(environ), environ)
        hint = f"a Google sign-in is there, but no method is chosen in {where}: run `gemini` and choose one"
        return Auth(False, NONE, hint)
    return Auth(False, NONE, f"set GEMINI_API_KEY ({KEY_PAGE}), or run `gemini` and choose a method")


def _api_key(held: Variables, environ: Environ) -> Auth:
    if where := held.source("GEMINI_API_KEY"):
        return Auth(True, API_KEY, found=f"GEMINI_API_KEY is set in {where}")
    hint = f"set GEMINI_API_KEY ({KEY_PAGE})"
    if environ.get("GEMINI_FORCE_FILE_STORAGE") == "true" and not is_file(_file_of_keyring(environ)):
        return Auth(False, API_KEY, hint)
    found = "no GEMINI_API_KEY is set, but Gemini CLI may have kept a key in the system's keyring"
    return Auth(None, API_KEY, f"if not, {hint}", found)


def _google_login(held: Variables, environ: Environ) -> Auth:
    if held.has("GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_ACCESS_TOKEN"):
        return Auth(True, GOOGLE_LOGIN, found="GOOGLE_CLOUD_ACCESS_TOKEN is set")
    if environ.get("GEMINI_FORCE_ENCRYPTED_FILE_STORAGE") == "true":
        return Auth(None, GOOGLE_LOGIN, CONSUMERS, "the sign-in is kept in the system's keyring")
    if where := _credentials(environ):
        return Auth(True, GOOGLE_LOGIN, CONSUMERS, f"signed in ({where})")
    hint = f"run `gemini` in a terminal and sign in; {CONSUMERS}"
    return Auth(False, GOOGLE_LOGIN, hint)


def _vertex_ai(held: Variables, environ: Environ) -> Auth:
    if held.has("GOOGLE_API_KEY"):
        return Auth(True, VERTEX_AI, found=f"GOOGLE_API_KEY is set in {held.source('GOOGLE_API_KEY')}")
    if not held.has("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        return Auth(False, VERTEX_AI, "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY")
    named = environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    if named and not is_file(Path(named)):
        return Auth(False, VERTEX_AI, "GOOGLE_APPLICATION_CREDENTIALS names a file that is not there")
    if named:
        return Auth(True, VERTEX_AI, found="GOOGLE_APPLICATION_CREDENTIALS names a file")
    defaults = _application_defaults(environ)
    if is_file(defaults):
        return Auth(True, VERTEX_AI, found=f"application default credentials ({shown(defaults, environ)})")
    hint = "outside of Google Cloud: gcloud auth application-default login"
    return Auth(None, VERTEX_AI, hint, "the project is set; credentials may come from the machine")


def _compute_adc(_held: Variables, environ: Environ) -> Auth:
    if where := _credentials(environ):
        return Auth(True, COMPUTE_ADC, found=f"credentials ({where})")
    return Auth(None, COMPUTE_ADC, found="credentials come from the machine's metadata server")


def _gateway(_held: Variables, environ: Environ) -> Auth:
    where = shown(user_settings(environ), environ)
    hint = (
        "with GOOGLE_GEMINI_BASE_URL the method must be chosen:"
        f' say {{"security": {{"auth": {{"selectedType": "gemini-api-key"}}}}}} in {where}'
    )
    return Auth(False, GATEWAY, hint)


_CHECKS: Final = {
    API_KEY: _api_key,
    GOOGLE_LOGIN: _google_login,
    VERTEX_AI: _vertex_ai,
    COMPUTE_ADC: _compute_adc,
    GATEWAY: _gateway,
}


def _credentials(environ: Environ) -> str:
    """Say where a sign-in with Google is kept; empty if nowhere."""
    cached = home(environ) / FOLDER / "oauth_creds.json"
    if is_file(cached):
        return shown(cached, environ)
    named = environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    return "GOOGLE_APPLICATION_CREDENTIALS" if named and is_file(Path(named)) else ""


def _file_of_keyring(environ: Environ) -> Path:
    return home(environ) / FOLDER / "gemini-credentials.json"


def _application_defaults(environ: Environ) -> Path:
    """Give where `gcloud` keeps what programs are to use."""
    if folder := environ.get("CLOUDSDK_CONFIG"):
        return Path(folder) / "application_default_credentials.json"
    if data := environ.get("APPDATA"):
        return Path(data) / "gcloud" / "application_default_credentials.json"
    real_home = Path(environ.get("HOME") or Path.home())
    return real_home / ".config" / "gcloud" / "application_default_credentials.json"
