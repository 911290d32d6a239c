"""Lines with keys, tokens and passwords are left out before anything is sent, and named in the answer.

The detectors are those of detect-secrets, without its verification, which would send a secret to its service. A whole
line is left out, not only the secret: the second half of a pair of keys is often beside the first, in a form that no
detector knows. Line numbers stay, so the rest of the file is useful. A file is left out if most of its lines would be.

Allowed are: files that match `Allow.globs`; lines with the comment `pragma: allowlist secret` of detect-secrets; and
secrets that a person marked as false alarms (`"is_secret": false`) in `.secrets.baseline`, the audited list of
detect-secrets. Entries of that list without a decision are still left out: it also contains real secrets.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.packages import require
from workbench_handlers.workspace.roots import Located, Root

BASELINE: Final = ".secrets.baseline"
"""The file of audited secrets, in the top directory of a project."""
MAX_BASELINE_BYTES: Final = 10_000_000
MAX_SHARE: Final = 0.5
"""Maximum share of the lines of a file that may be left out; with more, the file is."""
MIN_LINES: Final = 3
"""Minimum lines with secrets for leaving out a file."""
MAX_CHECKED_CHARS: Final = 4_000
"""Maximum characters of a line that are checked; more are never sent."""
MAX_KEY_CHARS: Final = 512
"""Maximum characters of a string that may be a key. Longer ones are data, such as an image."""
MIN_PASSWORD_CHARS: Final = 6
MIN_GROUP_CHARS: Final = 4
"""Minimum characters of a group of an expression that may be the secret itself, unlike a prefix such as `ghp`."""

_PLUGINS: Final = (
    *("artifactory.ArtifactoryDetector", "aws.AWSKeyDetector", "azure_storage_key.AzureStorageKeyDetector"),
    *("basic_auth.BasicAuthDetector", "cloudant.CloudantDetector", "discord.DiscordBotTokenDetector"),
    *("github_token.GitHubTokenDetector", "gitlab_token.GitLabTokenDetector", "ibm_cos_hmac.IbmCosHmacDetector"),
    *("jwt.JwtTokenDetector", "mailchimp.MailchimpDetector", "npm.NpmDetector", "openai.OpenAIDetector"),
    *(
        "pypi_token.PypiTokenDetector",
        "sendgrid.SendGridDetector",
        "slack.SlackDetector",
        "softlayer.SoftlayerDetector",
    ),
    *("square_oauth.SquareOAuthDetector", "stripe.StripeDetector", "telegram_token.TelegramBotTokenDetector"),
    *("twilio.TwilioKeyDetector",),
)
"""Detectors of detect-secrets that are regular expressions. Public addresses (`ip_public`) are no secrets."""
_OTHERS: Final = {
    "Anthropic, OpenAI or OpenRouter Key": re.compile(r"sk-(?:ant|proj|or|svcacct|admin)-[\w-]{20,}"),
    "Google API Key": re.compile(r"AIza[\w-]{35}(?!\w)"),
    "Google OAuth Secret": re.compile(r"ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|1//0[\w-]{30,}"),
    "GitHub Token": re.compile(r"github_pat_\w{40,}"),
    "Slack Token": re.compile(r"xapp-\d-[\w-]{20,}"),
    "Hugging Face Token": re.compile(r"hf_[A-Za-z]{30,}(?!\w)"),
    "age Secret Key": re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    "Bearer Token": re.compile(r"[Bb]earer\s+(?=[\w.~+/-]*\d)[\w.~+/-]{20,}=*"),
}
"""Detectors that detect-secrets 1.5 does not have. Each begins with a fixed text, so that a search is fast."""
_KEY_BEGINS: Final = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d")
_KEY_ENDS: Final = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|Private-MAC:")
_KEY_LINE: Final = re.compile(r"[\s\"'+#/*|>\\,;-]*+(?:[A-Za-z0-9+/=:., -]{1,100}+)?+[\s\"'+\\nr,;)]*+")
"""A line of a key in PEM, as it is or in a string of source code; it may be empty, below headers."""
_KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/]{16,}")
PRIVATE_KEY: Final = "Private Key"
_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*[=:]\s*(?P<value>[^\s#].*)")
_NAMES_OF_SECRETS: Final = (
    *(f"{name}{sign}key" for name in ("api", "auth", "service", "account", "db", "database") for sign in ("", "_")),
    *(f"{name}{sign}key" for name in ("priv", "private", "client") for sign in ("", "_")),
    *("pass", "pwd", "secret", "token", "contrase"),
)
"""A quick test for the names that `KeywordDetector` looks for, and tokens."""
_NEEDED: Final = {
    "Cloudant Credentials": ("clou",),
    "IBM COS HMAC Credentials": ("ibm", "cos_", "cos-", "hmac"),
    "SoftLayer Credentials": ("softlayer", "sl_", "sl-"),
}
"""Slow detectors, with texts of which a file in lower case must contain one."""
_LOCK_FILES: Final = re.compile(
    r"(?:^|/)(?:[\w.-]*\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.ya?ml|go\.sum|packages\.lock\.json"
    r"|Cartfile\.resolved|Package\.resolved|[\w.-]*\.lock\.json|\.secrets\.baseline)$"
)
"""Files whose hashes look random."""
_HASH: Final = re.compile(
    r"(?:sha(?:1|224|256|384|512)|md5|blake2[bs]?|integrity|checksum|digest|hash|nonce|etag|commit|rev(?:ision)?)"
    r"[\"']?\s*[-:=(,]",
    re.IGNORECASE,
)
"""The name of a hash before its value: `"integrity": "sha512-..."`, `--hash=sha256:...`."""
_HASH_LENGTHS: Final = {32, 40, 56, 64, 96, 128}
"""Hexadecimal digits of common hashes. The detector of names finds keys of these lengths."""
_PRAGMA: Final = re.compile(r"pragma: ?(?:allow|white)list(?P<next>[ -]nextline)?[ -]secret\b")
_PLACEHOLDER: Final = re.compile(
    r"x{3,}|\*{3,}|\.{3}|<[^<>]*>|\{[^{}]*\}|\$[\w({]|%[(\w]|example|placeholder|change.?me|dummy|fake|your|redacted|todo",
    re.IGNORECASE,
)
"""Parts of values that stand for a secret."""
_PLAIN_WORDS: Final = re.compile(r"[A-Za-z](?:[\s_./:-]*[A-Za-z])*[.!?:]?")
_CODE: Final = re.compile(
    r"[\w.]+\s*[(\[]|[\w]+(?:\.[A-Za-z_]\w*)+\Z|(?:None|null|true|false|nil|undefined)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SecretLine:
    """A line that is left out. `kind` is the name of the detector, such as `AWS Access Key`."""

    path: str
    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class Allow:
    """What may be sent although it looks like a secret: globs of paths, and hashes of audited secrets by path."""

    globs: tuple[str, ...] = ()
    hashes: frozenset[tuple[str, str]] = frozenset()

    def allows_file(self, path: str) -> bool:
        """Return whether a file is not checked."""
        return any(fnmatchcase(path, glob) for glob in self.globs)


def load_allow(root: Root, globs: Sequence[str] = ()) -> Allow:
    """Return what a project allows. It blocks.

    Raises:
        ToolError: INVALID_ARGUMENT if `.secrets.baseline` is invalid.
    """
    try:
        with open_file(Located(root, (BASELINE,), BASELINE)) as stream:
            data = stream.read(MAX_BASELINE_BYTES)
    except ToolError:
        return Allow(tuple(globs))
    try:
        results = json.loads(data)["results"]
        hashes = frozenset(
            (path, entry["hashed_secret"])
            for path, entries in results.items()
            for entry in entries
            if entry.get("is_secret") is False
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        message = f"`{BASELINE}` is not a baseline of detect-secrets: run `detect-secrets scan > {BASELINE}`"
        raise ToolError(message, code="INVALID_ARGUMENT") from None
    return Allow(tuple(globs), hashes)


def find_secrets(path: str, lines: Sequence[str], allow: Allow | None = None) -> list[SecretLine]:
    """Return the lines with secrets, each once, in order. It blocks.

    Raises:
        NotInstalledError: detect-secrets is missing.
    """
    allow = allow or Allow()
    if allow.allows_file(path):
        return []
    require("detect_secrets", extra="research")
    found = dict(_key_blocks(lines))
    for index, kind, value in _candidates(path, lines):
        if index not in found and (path, _sha1(value)) not in allow.hashes:
            found[index] = kind
    allowed = _allowed_lines(lines)
    return [SecretLine(path, index + 1, found[index]) for index in sorted(found) if index not in allowed]


def mask(lines: Sequence[str], secrets: Collection[SecretLine]) -> list[str] | None:
    """Return the lines without those with secrets; None if the file has to be left out."""
    result = list(lines)
    for secret in secrets:
        result[secret.line - 1] = f"[line left out: {secret.kind}]"
    filled = sum(1 for line in lines if line.strip())
    return None if len(secrets) >= MIN_LINES and len(secrets) > MAX_SHARE * filled else result


def _candidates(path: str, lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the index of each line with a secret, the kind and the value."""
    is_lock = bool(_LOCK_FILES.search(path))
    short = [line[:MAX_CHECKED_CHARS] for line in lines]
    text = "\n".join(short)
    starts = _Starts(short)
    for kind, pattern in _OTHERS.items():
        for match in pattern.finditer(text):
            if not _PLACEHOLDER.search(match[0]):
                yield starts.index(match.start()), kind, match[0]
    lower = text.lower()
    if len(lower) != len(text):  # some letters, such as U+0130, become two
        lower = "".join(character.lower()[0] for character in text)
    for detector in _detectors():
        if not any(needed in lower for needed in _NEEDED.get(detector.secret_type, ("",))):
            continue
        for index in starts.matching(detector.denylist, text):
            for value in _values(detector, short[index]):
                if _is_likely(value, detector.secret_type):
                    yield index, detector.secret_type, value
    if is_lock:
        return
    keywords, by_file_type = _keyword_detector(path)
    for index in starts.containing(_NAMES_OF_SECRETS, lower):
        for value in keywords.analyze_string(short[index], by_file_type):
            if _is_password(value):
                yield index, keywords.secret_type, value
        if (assigned := _ASSIGNMENT.fullmatch(short[index])) and _is_random(assigned["value"].strip("\"' ,;")):
            yield index, "Token", assigned["value"]
    for detector in _entropy_detectors():
        for index in starts.matching((detector.regex,), text):
            line = short[index]
            if _HASH.search(line):
                continue
            for value in detector.analyze_string(line):
                if _is_random(value) and detector.calculate_shannon_entropy(value) > detector.entropy_limit:
                    yield index, detector.secret_type, value


def _values(detector: Any, line: str) -> Iterator[str]:
    """Yield the secrets of a line. A detector itself would return the prefix `ghp` of a token, which is a group."""
    is_valid = getattr(detector, "is_formally_valid", None)
    for pattern in detector.denylist:
        for match in pattern.finditer(line):
            value = next((group for group in match.groups() if group and len(group) >= MIN_GROUP_CHARS), match[0])
            if is_valid is None or is_valid(value):
                yield value


class _Starts:
    """The offsets of lines in a text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._offsets = [0]
        for line in lines:
            self._offsets.append(self._offsets[-1] + len(line) + 1)

    def index(self, offset: int) -> int:
        """Return the index of the line at `offset`."""
        return bisect_right(self._offsets, offset) - 1

    def matching(self, patterns: Collection[re.Pattern[str]], text: str) -> list[int]:
        """Return the indexes of the lines in which a match begins or ends; one search of a text is faster than many."""
        return sorted(
            {
                self.index(offset)
                for pattern in patterns
                for match in pattern.finditer(text)
                for offset in (match.start(), max(match.start(), match.end() - 1))
            }
        )

    def containing(self, needles: Collection[str], text: str) -> list[int]:
        """Return the indexes of the lines with one of `needles`."""
        indexes = set()
        for needle in needles:
            offset = text.find(needle)
            while offset >= 0:
                indexes.add(self.index(offset))
                offset = text.find(needle, offset + 1)
        return sorted(indexes)


def _key_blocks(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of private keys, from their beginning to their end, or to a line that cannot be part of one.

    A beginning without a line of a key, as in the source of a parser, is no key.
    """
    index = 0
    while index < len(lines):
        if not (begins := _KEY_BEGINS.search(lines[index])):
            index += 1
            continue
        first, rest = index, lines[index][begins.end() :]
        has_key = bool(_KEY_BODY.search(rest))
        while not _KEY_ENDS.search(rest) and index + 1 < len(lines):
            rest = lines[index + 1]
            if _KEY_BEGINS.search(rest) or not (_KEY_LINE.fullmatch(rest) or _KEY_ENDS.search(rest)):
                break
            has_key = has_key or bool(_KEY_BODY.search(rest))
            index += 1
        if has_key:
            yield from ((inside, PRIVATE_KEY) for inside in range(first, index + 1))
        index += 1


def _allowed_lines(lines: Sequence[str]) -> set[int]:
    allowed = set()
    for index, line in enumerate(lines):
        if match := _PRAGMA.search(line):
            allowed.add(index + 1 if match["next"] else index)
    return allowed


def _is_likely(value: str, kind: str) -> bool:
    """Return whether the value of a detector for one service is a secret, not a placeholder or a word."""
    if _PLACEHOLDER.search(value):
        return False
    if kind == "Basic Auth Credentials":
        return _is_password(value)
    return any(character.isdigit() for character in value)


def _is_password(value: str) -> bool:
    """Return whether the value of a name such as `password` is one, not a word, a placeholder or an expression."""
    value = value.strip()
    return (
        MIN_PASSWORD_CHARS <= len(value) <= MAX_KEY_CHARS
        and not _PLACEHOLDER.search(value)
        and not _PLAIN_WORDS.fullmatch(value)
        and not _CODE.match(value)
        and not _is_sequence(value)
    )


def _is_random(value: str) -> bool:
    """Return whether a string may be a key: long, with digits, no hash, no sequence such as an alphabet, no UUID."""
    from detect_secrets.filters.heuristic import is_potential_uuid

    return (
        20 <= len(value) <= MAX_KEY_CHARS
        and any(character.isdigit() for character in value)
        and any(character.isalpha() for character in value)
        and not any(character.isspace() for character in value)
        and re.fullmatch(r"[\w+/=.~-]+", value) is not None
        and not (len(value) in _HASH_LENGTHS and re.fullmatch(r"[0-9a-fA-F]+", value))
        and not _is_sequence(value)
        and not is_potential_uuid(value)
        and not _PLACEHOLDER.search(value)
        and not _is_name(value)
        and not _CODE.match(value)
    )


def _is_name(value: str) -> bool:
    """Return whether a text is words with numbers: a path, an address, a version: `docs/v2/index-page.html`."""
    parts = re.split(r"[-_/.=+~]", value)
    return len(parts) > 1 and all(re.fullmatch(r"[A-Za-z]*+\d{0,4}[a-z]*+", part) for part in parts)


def _is_sequence(value: str) -> bool:
    """Return whether most characters follow each other, as in `abcdef012345`, or repeat."""
    steps = sum(1 for first, second in pairwise(value.casefold()) if ord(second) - ord(first) in {-1, 0, 1})
    return steps > 0.6 * len(value)


def _sha1(value: str) -> str:
    return hashlib.sha1(value.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


@cache
def _detectors() -> tuple[Any, ...]:
    from importlib import import_module

    detectors = []
    for plugin in _PLUGINS:
        module, _, name = plugin.partition(".")
        detectors.append(getattr(import_module(f"detect_secrets.plugins.{module}"), name)())
    return tuple(detectors)


@cache
def _entropy_detectors() -> tuple[Any, ...]:
    from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString, HexHighEntropyString

    return Base64HighEntropyString(), HexHighEntropyString()


def _keyword_detector(path: str) -> tuple[Any, Any]:
    """Return the detector of names such as `password`, and its expressions for the file."""
    from detect_secrets.plugins import keyword
    from detect_secrets.util.filetype import determine_file_type

    quoted = keyword.QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP
    name = path.rpartition("/")[2]
    is_settings = ".env" in name or name.endswith((".properties", ".cfg", ".conf", ".ini"))
    by_type = keyword.REGEX_BY_FILETYPE.get(determine_file_type(path), quoted)
    return _keyword(), keyword.CONFIG_DENYLIST_REGEX_TO_GROUP if is_settings else by_type


@cache
def _keyword() -> Any:
    from detect_secrets.plugins.keyword import KeywordDetector

    return KeywordDetector()
