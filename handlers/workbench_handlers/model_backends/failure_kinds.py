"""The sorts of failures, and by what they are known: exit codes, HTTP statuses, the API's names of errors, words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What went wrong, by what can be done about it."""

    TRANSIENT = "transient"
    QUOTA = "quota"
    MODEL = "model"
    AUTH = "auth"
    IGNORED = "ignored"
    NOT_FOUND = "not_found"
    PERMISSION = "permission"
    INPUT = "input"
    LAUNCH = "launch"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Sort:
    """A kind, whether another try may help, and whether another model may.

    `advice` says why and what to do where that is more than all of the kind have in common.
    """

    kind: Kind
    is_repeatable: bool = False
    needs_model: bool = False
    advice: str = ""


AGAIN: Final = Sort(Kind.TRANSIENT, is_repeatable=True)
BUSY: Final = Sort(Kind.TRANSIENT, is_repeatable=True, needs_model=True)
"""The service is well, the model is overloaded."""
QUOTA: Final = Sort(Kind.QUOTA, is_repeatable=True, needs_model=True)
SPENT: Final = Sort(Kind.QUOTA, needs_model=True)
"""A quota of a day or more: waiting a minute for it is of no use."""
MODEL: Final = Sort(Kind.MODEL, needs_model=True)
AUTH: Final = Sort(Kind.AUTH)
INELIGIBLE: Final = Sort(
    Kind.AUTH,
    advice="it no longer serves accounts of this plan: set GEMINI_API_KEY to a key of a paid plan, or install the "
    "Antigravity CLI and sign in with 'agy'",
)
PROJECT: Final = Sort(Kind.AUTH, advice="it needs a project: set GOOGLE_CLOUD_PROJECT to the id of one")
KEY: Final = Sort(
    Kind.AUTH,
    advice="it refused the API key that is set: make another one (https://aistudio.google.com/app/apikey) and set "
    "GEMINI_API_KEY to it",
)
INPUT: Final = Sort(Kind.INPUT)
TOO_MUCH: Final = Sort(
    Kind.INPUT,
    advice="prompt and files may be more than the model can read at once: name fewer or smaller files",
)
"""The Gemini CLI then asks nothing, and ends well."""
LOOP: Final = Sort(
    Kind.OTHER,
    advice="the model did the same again and again, and was stopped before it answered: ask about less at a time, or "
    "name the files",
)
ELSEWHERE: Final = Sort(
    Kind.OTHER,
    advice="the Gemini API does not serve the place that this machine connects from: use Vertex AI, in a region that "
    "GOOGLE_CLOUD_LOCATION names",
)
IGNORED: Final = Sort(Kind.IGNORED)
NOT_FOUND: Final = Sort(Kind.NOT_FOUND)
PERMISSION: Final = Sort(Kind.PERMISSION)
"""The operating system denies something, and not the service."""
UNTRUSTED: Final = Sort(
    Kind.OTHER,
    advice="it does not trust the certificate it was shown: set NODE_EXTRA_CA_CERTS to the PEM file of the authority "
    "that issued it, as that of your network's proxy, and see that the clock is right",
)
LAUNCH: Final = Sort(Kind.LAUNCH)
OTHER: Final = Sort(Kind.OTHER)

BY_EXIT_CODE: Final = {41: AUTH, 42: INPUT, 126: LAUNCH, 127: LAUNCH}
BY_STATUS: Final = {
    400: INPUT,
    401: AUTH,
    402: SPENT,
    403: AUTH,
    404: MODEL,
    408: AGAIN,
    413: INPUT,
    422: INPUT,
    425: AGAIN,
    429: QUOTA,
    500: AGAIN,
    502: AGAIN,
    503: BUSY,
    504: AGAIN,
    529: BUSY,
}
BY_NAME: Final = {
    "RESOURCE_EXHAUSTED": QUOTA,
    "UNAVAILABLE": BUSY,
    "DEADLINE_EXCEEDED": AGAIN,
    "INTERNAL": AGAIN,
    "ABORTED": AGAIN,
    "UNAUTHENTICATED": AUTH,
    "PERMISSION_DENIED": AUTH,
    "NOT_FOUND": MODEL,
    "INVALID_ARGUMENT": INPUT,
    "OUT_OF_RANGE": INPUT,
    "FAILED_PRECONDITION": OTHER,
    "UNIMPLEMENTED": OTHER,
}
"""What Google's APIs call errors (google.rpc.Code)."""


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


EXACT_WORDS: Final = (
    (
        INELIGIBLE,
        _lines("""
            ineligible tier error
            no longer supported for gemini code assist
        """),
    ),
    (
        PROJECT,
        _lines("""
            project id required error
            requires setting the GOOGLE_CLOUD_PROJECT
        """),
    ),
    (
        KEY,
        _lines("""
            api key not valid
            api key invalid
            invalid api key
            api key expired
            api key was reported as leaked
        """),
    ),
    (ELSEWHERE, ("location is not supported",)),
    (
        AUTH,
        _lines("""
            api key not found
            set an auth method
            invalid auth method
            must specify the gemini api key
            invalid authentication credentials
            authentication required
            authentication failed
            invalid grant
            not logged in
            not signed in
            please sign in
        """),
    ),
    (
        SPENT,
        _lines("""
            per day
            daily quota
            daily limit
            weekly quota
            terminal quota error
            individual quota reached
            credits balance is too low
            credits are depleted
        """),
    ),
    (
        BUSY,
        _lines("""
            overloaded
            model capacity exhausted
            no capacity available
            currently experiencing high demand
        """),
    ),
    (
        MODEL,
        _lines("""
            model not found
            is not found for api version
            is not supported for generate content
            unknown model
            invalid model
            model is not available
            do not have access to the model
            not have access to this model
            permission denied on model
        """),
    ),
    (
        IGNORED,
        _lines("""
            is ignored by configured ignore patterns
            ignored by git ignore
            ignored by gemini ignore
        """),
    ),
)
"""What is more exact than the status it comes with: a bad key is a 400, the quota of a day a 429 like any other."""

SYSTEM_WORDS: Final = (
    (NOT_FOUND, ("no such file or directory",)),
    (
        PERMISSION,
        _lines("""
            EACCES
            EPERM
            EROFS
            operation not permitted
            errno 13
        """),
    ),
    (
        UNTRUSTED,
        _lines("""
            SELF_SIGNED_CERT_IN_CHAIN
            DEPTH_ZERO_SELF_SIGNED_CERT
            UNABLE_TO_VERIFY_LEAF_SIGNATURE
            UNABLE_TO_GET_ISSUER_CERT
            UNABLE_TO_GET_ISSUER_CERT_LOCALLY
            CERT_HAS_EXPIRED
            self-signed certificate
            unable to verify the first certificate
            unable to get local issuer certificate
            certificate has expired
        """),
    ),
)
"""What the operating system and Node say of this machine: more exact than a number or a word that stands near it."""

BY_WHOLE_TEXT: Final = {"terminated": AGAIN}
"""What is known only where nothing else is said: undici says no more of a connection that was cut."""

WORDS: Final = (
    (LOOP, ("loop detected",)),
    (NOT_FOUND, ("file not found",)),
    (MODEL, ("requested entity was not found",)),
    (
        INPUT,
        _lines("""
            bad request
            invalid request
            invalid argument
        """),
    ),
    (
        QUOTA,
        _lines("""
            resource exhausted
            resource has been exhausted
            rate limit
            rate limited
            quota
            too many requests
        """),
    ),
    (
        AUTH,
        _lines("""
            unauthenticated
            unauthorized
            permission denied
            forbidden
            authentication
        """),
    ),
    (
        BUSY,
        _lines("""
            service unavailable
            temporarily unavailable
            unavailable
        """),
    ),
    (
        AGAIN,
        _lines("""
            ETIMEDOUT
            ECONNRESET
            ECONNREFUSED
            ECONNABORTED
            EPIPE
            EAI_AGAIN
            ENOTFOUND
            ENETUNREACH
            ENETDOWN
            EHOSTUNREACH
            UND_ERR_SOCKET
            socket hang up
            fetch failed
            network error
            other side closed
            error: terminated
            error terminated
            ERR_INTERNET_DISCONNECTED
            ERR_NETWORK_CHANGED
            ERR_NAME_NOT_RESOLVED
            premature close
            timeout
            time out
            timed out
            deadline exceeded
            connection
            bad gateway
            internal server error
            internal error
        """),
    ),
)
