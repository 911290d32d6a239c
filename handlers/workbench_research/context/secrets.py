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
"""Maximum characters of a string without a name that may be a key. Longer ones are data, such as an image."""
MIN_PASSWORD_CHARS: Final = 6
MAX_PLACEHOLDER_CHARS: Final = 100
"""Characters of a value in which a placeholder is looked for: a long key contains `xxx` by accident."""

_PLUGINS: Final = (
    *("artifactory.ArtifactoryDetector", "aws.AWSKeyDetector", "azure_storage_key.AzureStorageKeyDetector"),
    *("basic_auth.BasicAuthDetector", "discord.DiscordBotTokenDetector", "github_token.GitHubTokenDetector"),
    *("gitlab_token.GitLabTokenDetector", "jwt.JwtTokenDetector", "mailchimp.MailchimpDetector"),
    *("pypi_token.PypiTokenDetector", "sendgrid.SendGridDetector", "slack.SlackDetector"),
    *("square_oauth.SquareOAuthDetector", "stripe.StripeDetector", "telegram_token.TelegramBotTokenDetector"),
    *("twilio.TwilioKeyDetector",),
)
"""Detectors of detect-secrets that are regular expressions. Public addresses (`ip_public`) are no secrets.

Those of Cloudant, IBM, NPM, OpenAI and SoftLayer take quadratic or cubic time; `_OTHERS` has linear ones.
"""
_JWT: Final = re.compile(r"(?<![\w-])[\w-]{0,40}?(eyJ[\w-]++=*+\.[\w=-]++(?:\.[\w.+/=-]*+)?)")
"""The expression of `JwtTokenDetector` takes quadratic time."""
_PREFIX_GROUPS: Final = {"GitHub Token", "GitLab Token"}
"""Detectors whose groups are parts of a prefix such as `ghp`, not the secret."""
_NAME_OF_KEY: Final = r"(?:key|pwd|pw|password|pass|token)[\"']?\]?[ ]{0,8}+(?::=|=>|::|[=:])?[ ]{0,8}+[\"']?"
_OTHERS: Final = {
    "Anthropic, OpenAI or OpenRouter Key": re.compile(r"sk-(?:ant|proj|or|svcacct|admin)-[\w-]{20,}"),
    "OpenAI Token": re.compile(r"(?<![\w-])sk-(?=[\w-]{20,200}?T3BlbkFJ)[\w-]++"),
    "Google API Key": re.compile(r"AIza[\w-]{35}(?!\w)"),
    "Google OAuth Secret": re.compile(r"ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|1//0[\w-]{30,}"),
    "GitHub Token": re.compile(r"github_pat_\w{40,}"),
    "Slack Token": re.compile(r"xapp-\d-[\w-]{20,}"),
    "Hugging Face Token": re.compile(r"hf_[A-Za-z]{30,}(?!\w)"),
    "age Secret Key": re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    "Bearer Token": re.compile(r"[Bb]earer\s+(?=[\w.~+/-]*\d)[\w.~+/-]{20,}=*"),
    "NPM tokens": re.compile(r":_authToken=\s{0,8}+[\"']?(?:npm_\w+|[A-Fa-f0-9-]{36})"),
    "Cloudant Credentials": re.compile(
        rf"\b(?:cloudant|cl|clou)[_-]?(?:api[_-]?)?{_NAME_OF_KEY}(?:[0-9a-f]{{64}}|[a-z]{{24}})(?!\w)", re.IGNORECASE
    ),
    "IBM COS HMAC Credentials": re.compile(
        r"secret[-_]?(?:access)?[-_]?key[\"']?\]?[ ]{0,8}+(?::=|=>|::|[=:])?[ ]{0,8}+[\"']?[a-f0-9]{48}(?![a-f0-9])",
        re.IGNORECASE,
    ),
    "SoftLayer Credentials": re.compile(
        rf"\b(?:softlayer|sl)[_-]?(?:api[_-]?)?{_NAME_OF_KEY}[a-z0-9]{{64}}"
        r"|//api\.softlayer\.com/soap/v3(?:\.1)?/[a-z0-9]{64}",
        re.IGNORECASE,
    ),
}
"""Detectors that detect-secrets 1.5 does not have, or only slow ones.

Each begins with a fixed text, so that a search is fast.
"""
_KEY_BEGINS: Final = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d")
_KEY_ENDS: Final = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|Private-MAC:")
_KEY_LINE: Final = re.compile(r"[\s\"'+#/*|>\\,;-]*+(?:[A-Za-z0-9+/=:., -]{1,100}+)?+[\s\"'+\\nr,;)]*+")
"""A line of a key in PEM, as it is or in a string of source code; it may be empty, below headers."""
_KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/]{16,}")
_ENCODED_KEY: Final = re.compile(r"LS0tLS1CRUdJTi[\w+/=-]{40,}")
"""A PEM in base64: it begins with `-----BEGIN`."""
_ENCODED_LINE: Final = re.compile(r"[\s\"'+#/*|>-]*+[A-Za-z0-9+/_]{4,}={0,2}(?:\\n)?[\s\"'+\\,;)]*+")
MIN_ENCODED_CHARS: Final = 56
"""Minimum characters of a line of an encoded key that continues on the next."""
MAX_ENCODED_CHARS: Final = 128
"""Maximum characters of that line: a longer one is the whole key."""
PRIVATE_KEY: Final = "Private Key"
_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*[=:]\s*(?P<value>[^\s#].*)")
_UNQUOTED: Final = re.compile(
    r"(?P<before>(?:\b(?:ENV|ARG|setx?|setenv)\s{1,4}+(?:-\w{1,9}\s{1,4}){0,2}|--)[\w-]{0,40}?)?"
    r"(?:(?:api|auth|service|account|db|database|priv|private|client|access|secret|encryption|signing)[_-]?key"
    r"|pass(?:word|wd|phrase)?|pwd|secret|token|contrase[n\u00f1]a)(?P<rest>\w{0,40}+)[\]\"']{0,2}+"
    r"(?:\s{0,8}+(?::=|=>|[=:])\s{0,8}+|(?P<space>\s{1,8}+))[\"'`]?(?P<value>[^\s\"'`&|;,]{6,}+)",
    re.IGNORECASE,
)
"""A name and a value that may be without quotation marks, up to the next space; `before` is a command or `--`."""
_REST_OF_OTHERS: Final = re.compile(
    r"(?:url|uri|file|path|dir|name|id|ttl|type|len|length|count|limit|size|min|max|env|s)\Z", re.IGNORECASE
)
"""Ends of names whose values are no secrets, such as `TOKEN_URL` and `MAX_TOKENS`."""
_PATH: Final = re.compile(r"[./~@\\-]|[\w+.-]{1,20}://|[A-Za-z]:\\")
_PROSE: Final = re.compile(r"\.(?:md|mdx|markdown|rst|txt|text|adoc|asciidoc|org)\Z", re.IGNORECASE)
_COMMANDS: Final = re.compile(
    r"\.(?:sh|bash|zsh|fish|ksh|csh|bats|bat|cmd|ps1|psm1|ya?ml|eyaml|tfvars|envrc|service|mk|dockerfile|containerfile)\Z"
    r"|(?:^|/)(?:Dockerfile|Containerfile|Makefile|Procfile|Justfile)[^/]*\Z|(?:^|/)\.?(?:bash|zsh)(?:rc|_profile)\Z"
    r"|(?:^|/)\.?(?:profile|npmrc|pypirc|netrc|pgpass)\Z",
    re.IGNORECASE,
)
"""Files in which values need no quotation marks."""
_SPACES: Final = re.compile(r"\s{9,}")
"""The expressions of `KeywordDetector` take quadratic time for these."""
_NAMES_OF_SECRETS: Final = (
    *(f"{name}{sign}key" for name in ("api", "auth", "service", "account", "db", "database") for sign in ("", "_")),
    *(f"{name}{sign}key" for name in ("priv", "private", "client") for sign in ("", "_")),
    *("pass", "pwd", "secret", "token", "contrase"),
    *("api-key", "auth-key", "client-key", "private-key", "account-key", "service-key", "access-key", "access_key"),
    *("accesskey", "encryption_key", "encryption-key", "signing_key", "signing-key"),
)
"""A quick test for the names that `KeywordDetector` looks for, and tokens."""
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
            if not _is_placeholder(match[0]):
                yield starts.index(match.start()), kind, match[0]
    lower = text.lower()
    if len(lower) != len(text):  # some letters, such as U+0130, become two
        lower = "".join(character.lower()[0] for character in text)
    for detector in _detectors():
        for index in starts.matching(_patterns(detector), text):
            for value in _values(detector, short[index]):
                if _is_likely(value, detector.secret_type):
                    yield index, detector.secret_type, value
    if is_lock:
        return
    keywords, by_file_type = _keyword_detector(path)
    is_prose = bool(_PROSE.search(path))
    is_unquoted = is_prose or bool(_COMMANDS.search(path))
    for index in starts.containing(_NAMES_OF_SECRETS, lower):
        for value in keywords.analyze_string(_SPACES.sub(" ", short[index]), by_file_type):
            if _is_password(value):
                yield index, keywords.secret_type, value
        for value in _unquoted(short[index], is_prose) if is_unquoted else ():
            yield index, keywords.secret_type, value
        if (assigned := _ASSIGNMENT.fullmatch(short[index])) and _is_random(
            assigned["value"].strip("\"' ,;"), MAX_CHECKED_CHARS
        ):
            yield index, "Token", assigned["value"]
    for detector in _entropy_detectors():
        for index in starts.matching((detector.regex,), text):
            line = short[index]
            if _HASH.search(line):
                continue
            for value in detector.analyze_string(line):
                if _is_random(value) and detector.calculate_shannon_entropy(value) > detector.entropy_limit:
                    yield index, detector.secret_type, value


def _unquoted(line: str, is_prose: bool) -> Iterator[str]:
    """Yield the values of names such as `password`, up to the next space; in prose only those that look random."""
    for match in _UNQUOTED.finditer(line):
        value = match["value"].rstrip(").:]}>")
        if (match["space"] and not match["before"]) or _REST_OF_OTHERS.search(match["rest"]):
            continue
        has_digits = any(character.isdigit() for character in value)
        if not has_digits or not any(character.isalpha() for character in value):
            continue
        if _PATH.match(value) or (is_prose and (_is_name(value) or "(" in value)):
            continue
        if _is_password(value):
            yield value


def _values(detector: Any, line: str) -> Iterator[str]:
    """Yield the secrets of a line. A detector itself would return the prefix `ghp` of a token, which is a group."""
    is_valid = getattr(detector, "is_formally_valid", None)
    for pattern in _patterns(detector):
        for match in pattern.finditer(line):
            groups = () if detector.secret_type in _PREFIX_GROUPS else match.groups()
            value = next((group for group in groups if group), match[0])
            if is_valid is None or is_valid(value):
                yield value


def _patterns(detector: Any) -> Sequence[re.Pattern[str]]:
    return (_JWT,) if hasattr(detector, "is_formally_valid") else detector.denylist


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
        if encoded := _ENCODED_KEY.search(lines[index][:MAX_CHECKED_CHARS]):
            width = len(encoded[0])
            yield index, PRIVATE_KEY
            while (
                index + 1 < len(lines)
                and MIN_ENCODED_CHARS <= width <= MAX_ENCODED_CHARS
                and _ENCODED_LINE.fullmatch(lines[index + 1])
            ):
                index += 1
                width = len(lines[index].strip())
                yield index, PRIVATE_KEY
            index += 1
            continue
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
    if _is_placeholder(value):
        return False
    if kind == "Basic Auth Credentials":
        return _is_password(value)
    return any(character.isdigit() for character in value)


def _is_password(value: str) -> bool:
    """Return whether the value of a name such as `password` is one, not a word, a placeholder or an expression."""
    value = value.strip()
    return (
        len(value) >= MIN_PASSWORD_CHARS
        and not _is_placeholder(value)
        and not _PLAIN_WORDS.fullmatch(value)
        and not _CODE.match(value)
        and not _is_sequence(value)
    )


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value[:MAX_PLACEHOLDER_CHARS]))


def _is_random(value: str, max_chars: int = MAX_KEY_CHARS) -> bool:
    """Return whether a string may be a key: long, with digits, no hash, no sequence such as an alphabet, no UUID."""
    from detect_secrets.filters.heuristic import is_potential_uuid

    return (
        20 <= len(value) <= max_chars
        and any(character.isdigit() for character in value)
        and any(character.isalpha() for character in value)
        and not any(character.isspace() for character in value)
        and re.fullmatch(r"[\w+/=.~-]+", value) is not None
        and not (len(value) in _HASH_LENGTHS and re.fullmatch(r"[0-9a-fA-F]+", value))
        and not _is_sequence(value)
        and not is_potential_uuid(value)
        and not _is_placeholder(value)
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
