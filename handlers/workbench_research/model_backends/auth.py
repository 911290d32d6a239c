"""The program's authentication method, determined without running it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from workbench_research.gemini_files import GEMINI_DIRECTORY, users_home
from workbench_research.model_backends.user_settings import (
    Environ,
    GeminiSettings,
    display_path,
    is_file,
    read_settings,
    user_settings,
    variables_in,
)

API_KEY: Final = "api_key"
GOOGLE_LOGIN: Final = "google_login"
VERTEX_AI: Final = "vertex_ai"
COMPUTE_ADC: Final = "compute_adc"
GATEWAY: Final = "gateway"
NONE: Final = "none"
UNKNOWN: Final = "unknown"

TITLES: Final = {
    API_KEY: "Gemini API key",
    GOOGLE_LOGIN: "Google sign-in",
    VERTEX_AI: "Vertex AI",
    COMPUTE_ADC: "the machine's Google account",
    GATEWAY: "a gateway",
    NONE: "none",
    UNKNOWN: "unknown",
}

KEY_PAGE: Final = "https://aistudio.google.com/app/apikey"
PERSONAL_ACCOUNTS: Final = (
    "since 2026-06-18 Gemini CLI no longer serves personal Google accounts, free or paid; for a personal account"
    " use an API key"
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

    `configured` is None where only a run can tell, as with a key in the system's keyring. `method` is one of the names
    above, `hint` an instruction or a remark, and `detail` the evidence; neither contains a secret.
    """

    configured: bool | None
    method: str
    hint: str = ""
    detail: str = ""


def find_auth(environ: Environ, directory: Path) -> Auth:
    """Return how the Gemini CLI would authenticate in the project `directory`. Reads a few small files."""
    settings = read_settings(environ)
    selected = settings.get("security", "auth", "selectedType")
    if isinstance(selected, str) and selected:
        method = _METHODS.get(selected, UNKNOWN)
    else:
        method = _method_of_variables(settings)
    auth = _check(method, settings)
    if auth.configured:
        return auth
    # Reasons why a setup that looks complete is not.
    notes = [note for note in (settings.problem, _key_in_project(directory, environ)) if note]
    return replace(auth, hint="; ".join([*notes, auth.hint] if auth.hint else notes))


def _method_of_variables(settings: GeminiSettings) -> str:
    """Return the method that Gemini CLI derives from variables, in its order of preference."""
    if settings.is_true("GOOGLE_GENAI_USE_GCA"):
        return GOOGLE_LOGIN
    if settings.is_true("GOOGLE_GENAI_USE_VERTEXAI"):
        return VERTEX_AI
    if settings.has("GOOGLE_GEMINI_BASE_URL"):
        return GATEWAY
    if settings.has("GEMINI_API_KEY"):
        return API_KEY
    if settings.is_true("CLOUD_SHELL") or settings.is_true("GEMINI_CLI_USE_COMPUTE_ADC"):
        return COMPUTE_ADC
    return NONE


def _key_in_project(directory: Path, environ: Environ) -> str:
    """Return a note about a key in the project's files: a project must not choose the receiver of questions."""
    for path in (directory / GEMINI_DIRECTORY / ".env", directory / ".env"):
        if directory != users_home(environ) and "GEMINI_API_KEY" in variables_in(path):
            return f"the GEMINI_API_KEY in {display_path(path, environ)} is ignored because the file is the project's"
    return ""


def _check(method: str, settings: GeminiSettings) -> Auth:
    """Check the credentials of a method."""
    path = display_path(user_settings(settings.environ), settings.environ)
    match method:
        case "api_key":
            return _api_key(settings)
        case "google_login":
            return _google_login(settings)
        case "vertex_ai":
            return _vertex_ai(settings)
        case "compute_adc":
            return Auth(None, COMPUTE_ADC, detail="the machine's Google account provides credentials")
        case "gateway":
            selection = '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
            return Auth(False, GATEWAY, f"GOOGLE_GEMINI_BASE_URL needs a selected method: write {selection} to {path}")
        case "unknown":
            hint = f"`security.auth.selectedType` in {path} is not a method of Gemini CLI: run `gemini` and choose one"
            return Auth(False, UNKNOWN, hint)
    # Nothing is selected: name a credential that Gemini CLI ignores for that reason.
    if settings.has("GOOGLE_API_KEY"):
        return Auth(False, NONE, "GOOGLE_API_KEY also needs GOOGLE_GENAI_USE_VERTEXAI=true")
    if _google_sign_in(settings.environ):
        return Auth(False, NONE, f"a Google sign-in exists, but {path} selects no method: run `gemini` and choose one")
    return Auth(False, NONE, f"set GEMINI_API_KEY ({KEY_PAGE}), or run `gemini` and choose a method")


def _api_key(settings: GeminiSettings) -> Auth:
    if source := settings.source("GEMINI_API_KEY"):
        return Auth(True, API_KEY, detail=f"GEMINI_API_KEY is set in {source}")
    detail = "GEMINI_API_KEY is not set; Gemini CLI may have a key in the system's keyring"
    return Auth(None, API_KEY, f"if not, set GEMINI_API_KEY ({KEY_PAGE})", detail)


def _google_login(settings: GeminiSettings) -> Auth:
    if settings.has("GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_ACCESS_TOKEN"):
        return Auth(True, GOOGLE_LOGIN, detail="GOOGLE_CLOUD_ACCESS_TOKEN is set")
    if settings.is_true("GEMINI_FORCE_ENCRYPTED_FILE_STORAGE"):
        return Auth(None, GOOGLE_LOGIN, PERSONAL_ACCOUNTS, "the sign-in is in the system's keyring")
    if path := _google_sign_in(settings.environ):
        return Auth(True, GOOGLE_LOGIN, PERSONAL_ACCOUNTS, f"signed in ({path})")
    return Auth(False, GOOGLE_LOGIN, f"run `gemini` in a terminal and sign in; {PERSONAL_ACCOUNTS}")


def _google_sign_in(environ: Environ) -> str:
    """Return the file of a Google sign-in, for people; empty if there is none."""
    cached = users_home(environ) / GEMINI_DIRECTORY / "oauth_creds.json"
    if is_file(cached):
        return display_path(cached, environ)
    path = environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    return "GOOGLE_APPLICATION_CREDENTIALS" if path and is_file(Path(path)) else ""


def _vertex_ai(settings: GeminiSettings) -> Auth:
    if source := settings.source("GOOGLE_API_KEY"):
        return Auth(True, VERTEX_AI, detail=f"GOOGLE_API_KEY is set in {source}")
    if not settings.has("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        return Auth(False, VERTEX_AI, "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY")
    if path := settings.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        if is_file(Path(path)):
            return Auth(True, VERTEX_AI, detail="GOOGLE_APPLICATION_CREDENTIALS names a file")
        return Auth(False, VERTEX_AI, "GOOGLE_APPLICATION_CREDENTIALS names a file that does not exist")
    hint = "without credentials, run: gcloud auth application-default login"
    return Auth(None, VERTEX_AI, hint, "the project is set; gcloud or the machine may provide credentials")
