"""Lines with secrets are left out and named; hashes, placeholders and code are no false alarms.

Secrets are put together here, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import hashlib
import json
import socket
import time
from pathlib import Path

import pytest
from toolmason_runtime import ToolError

from workbench_handlers.workspace.packages import NotInstalledError
from workbench_handlers.workspace.roots import Root
from workbench_research.context import secrets
from workbench_research.context.secrets import Allow, find_secrets, load_allow, mask

RANDOM = "q7Zt2Lw9XkB4vN8sRj3Yf6Hd"
BASE64 = f"{RANDOM}Pm5Gc1Aa0UeQoT+/"
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

SECRETS = [
    ("a.py", f'KEY = "{"AK" + "IA"}2E0A8F3B1C9D7G5H"', "AWS Access Key"),
    ("a.py", f'aws_secret_access_key = "{BASE64}"', "AWS Access Key"),
    ("x.txt", f"token: {'gh' + 'p_'}{RANDOM}{RANDOM[:12]}", "GitHub Token"),
    ("x.txt", f"{'github' + '_pat_'}{RANDOM}{RANDOM}", "GitHub Token"),
    ("a.js", f'const t = "{"xo" + "xb"}-123456789012-{RANDOM.lower()}"', "Slack Token"),
    ("a.md", f"https://hooks.slack.com/services/T{RANDOM[:8]}/B{RANDOM[:8]}/{RANDOM}", "Slack Token"),
    ("a.json", f'{{"t": "{JWT}"}}', "JSON Web Token"),
    ("a.go", f'k := "{"sk-" + "ant-"}api03-{RANDOM}{RANDOM}"', "Anthropic"),
    ("a.go", f'k := "{"sk-" + "proj-"}{RANDOM}{RANDOM}"', "OpenAI"),
    ("a.ts", f'const k = "{"AI" + "za"}Sy{RANDOM}{RANDOM[:9]}"', "Google API Key"),
    ("a.py", f'stripe = "{"sk_" + "live_"}{RANDOM}"', "Stripe"),
    ("a.yml", f"  url: https://deploy:{RANDOM}@example.org/x.git", "Basic Auth"),
    ("a.yml", "  password: hunter2-and-3", "Secret Keyword"),
    ("a.py", 'DB_PASSWORD = "hunter2-and-3"', "Secret Keyword"),
    ("a.ini", "secret_key = 1f0a9b8c7d", "Secret Keyword"),
    (".env.example", f"SESSION_SECRET={RANDOM}", "Secret Keyword"),
    (".env.example", f"export API_TOKEN={RANDOM}", "Token"),
    ("a.py", f'X = "{BASE64}"', "Base64 High Entropy"),
    ("a.py", f'X = "{HEX[:44]}"', "Hex High Entropy"),
    ("a.sh", f'curl -H "Authorization: Bearer {RANDOM}"', "Bearer"),
    ("a.py", f'api_key = "{HEX[:32]}"', "Secret Keyword"),
    ("key.txt", f"{'AGE-SECRET' + '-KEY-1'}{RANDOM.upper()}", "age"),
    (".npmrc.txt", f"//registry.example.org/:_authToken=npm_{RANDOM}{RANDOM[:12]}", "NPM"),
    ("a.txt", f"{'hf' + '_'}{'AbCdGhIjKlXyZwVuTsRqPoNmLkJiHgFeDc'}", "Hugging Face"),
]
PASSWORD = "hunter2" + "hunter2"
PEM = "LS0tLS1CRUdJTi" + "BQUklWQVRFIEtFWS0tLS0tCk"
LONG_KEY = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(10))
UNQUOTED = [
    ("deploy.sh", f"export DATABASE_PASSWORD={PASSWORD}"),
    ("deploy.sh", f"DATABASE_PASSWORD={PASSWORD} ./run --now"),
    ("deploy.sh", f"mysql --user root --password={PASSWORD} < dump.sql"),
    ("deploy.sh", f"login --password {PASSWORD}"),
    ("ci/run.bash", f"curl -d client_secret={RANDOM} https://example.org"),
    ("a.fish", f"set -gx DB_PASSWORD {PASSWORD}"),
    ("a.bat", f"set DB_PASSWORD={PASSWORD}"),
    ("Dockerfile", f"ENV DB_PASSWORD={PASSWORD}"),
    ("Dockerfile.prod", f"ENV MODE=1 DB_PASSWORD={PASSWORD} X=2"),
    ("docker/Dockerfile", f"ENV DB_PASSWORD {PASSWORD}"),
    ("Containerfile", f"ARG NPM_TOKEN={RANDOM[:16]}"),
    ("README.md", f"export API_TOKEN={'Xk29fkLq0z' + 'Pwmm1'}"),
    ("README.md", f"Sign in with password: `{PASSWORD}`."),
    ("docs/setup.rst", f"    DB_PASSWORD={PASSWORD}"),
    ("notes.txt", f"the db password: {PASSWORD}"),
    ("compose.yml", f"      - DB_PASSWORD={PASSWORD}"),
    ("compose.yml", f"      POSTGRES_PASSWORD: {PASSWORD}"),
    ("ci.yaml", f"  - run: docker run -e DB_PASSWORD={PASSWORD} image"),
    ("app.service", f"Environment=DB_PASSWORD={PASSWORD}"),
    ("Makefile", f"DB_PASSWORD := {PASSWORD}"),
]
ENCODED = [
    ("config", f"    client-key-data: {PEM}{LONG_KEY}"),
    ("kubeconfig.yaml", f"    client-key-data: {PEM}{LONG_KEY}"),
    ("secret.yaml", f"  tls.key: {PEM}{LONG_KEY}"),
    ("secret.json", f'{{"tls.key": "{PEM}{LONG_KEY}"}}'),
    ("main.tf", f'  key = base64decode("{PEM}{LONG_KEY}")'),
    (".env.example", f"SSH_KEY_B64={PEM}{LONG_KEY}"),
    ("a.py", f'KEY = b"{PEM}{LONG_KEY}"'),
    (".env.example", f"API_KEY={LONG_KEY}"),
    ("a.sh", f"export API_KEY={LONG_KEY}"),
    ("a.py", f'api_key = "{LONG_KEY}"'),
    ("a.json", f'{{"client_secret": "{LONG_KEY}"}}'),
    ("a.yml", f"token: {LONG_KEY}"),
    ("a.go", f'apiKey := "{LONG_KEY}"'),
]
HEADER = 'curl -H "PRIVATE-TOKEN: {}"'
SERVICES = [  # each detector of detect-secrets, and each of ours that replaces one
    ("x.sh", HEADER.format("glpat" + "-aB3dE6gH9jK2mN5pQ8sT"), "GitLab Token"),
    ("x.py", HEADER.format("gldt" + "-aB3dE6gH9jK2mN5pQ8sT"), "GitLab Token"),
    ("x.py", HEADER.format("glrt" + "-aB3dE6gH9jK2mN5pQ8sT"), "GitLab Token"),
    ("x.py", HEADER.format("glsoat" + "-aB3dE6gH9jK2mN5pQ8sT"), "GitLab Token"),
    ("x.py", HEADER.format("glcbt" + "-64_aB3dE6gH9jK2mN5pQ8sT"), "GitLab Token"),
    ("x.py", HEADER.format("GR1348941" + "aB3dE6gH9jK2mN5pQ8sT"), "GitLab Token"),
    *(
        ("x.py", HEADER.format(f"{kind}_{RANDOM}{RANDOM[:12]}"), "GitHub")
        for kind in ("ghp", "gho", "ghu", "ghs", "ghr")
    ),
    ("x.py", f"k = '{'AK' + 'C'}{RANDOM}'".replace("'", '"'), "Artifactory"),
    ("x.py", f"AccountKey={BASE64[:40]}{BASE64[:40]}{BASE64[:6]}==", "Azure"),
    ("x.py", f"git clone https://oauth2:{PASSWORD}@example.org/x.git", "Basic Auth"),
    ("x.py", f'cloudant_password = "{HEX}"', "Cloudant"),
    ("x.py", f"cloudant_api_key: {'abcqwertzxcvnmklpoiuytre'}", "Cloudant"),
    ("x.py", f"M{RANDOM}.{RANDOM[:6]}.{RANDOM}{RANDOM[:3]}", "Discord"),
    ("x.py", f'cos_hmac_secret_access_key = "{HEX[:48]}"', "IBM"),
    ("x.py", f"x = '{JWT}'", "JSON Web Token"),
    ("x.py", f"?token={JWT}", "JSON Web Token"),
    ("x.py", f"{HEX[:32]}-us12", "Mailchimp"),
    ("x.py", f"//registry.npmjs.org/:_authToken=npm_{RANDOM}{RANDOM[:12]}", "NPM"),
    ("x.py", "//registry.npmjs.org/:_authToken=123e4567-e89b-12d3-a456-42661417abcd", "NPM"),
    ("x.py", f"k = sk-{RANDOM[:20]}T3BlbkFJ{RANDOM[:20]}", "OpenAI"),
    ("x.py", f"{'pypi-AgEIcHlw' + 'aS5vcmc'}{RANDOM}{RANDOM}{RANDOM}", "PyPI"),
    ("x.py", f"SG.{RANDOM[:22]}.{RANDOM}{RANDOM[:19]}", "SendGrid"),
    ("x.py", f'softlayer_api_key = "{HEX}"', "SoftLayer"),
    ("x.py", f"https://api.softlayer.com/soap/v3/{HEX}", "SoftLayer"),
    ("x.py", f"sq0csp-{RANDOM}{RANDOM[:19]}", "Square"),
    ("x.py", f"rk_live_{RANDOM}", "Stripe"),
    ("x.py", f"12345678:{RANDOM}{RANDOM[:11]}", "Telegram"),
    ("x.py", f"AC{HEX[:32]}", "Twilio"),
]
NONE = [
    ("a.sh", "TOKEN_FILE=/run/secrets/token1"),
    ("a.sh", "PASSWORD=$(cat /run/secrets/password1) MAX_TOKENS=100000 TOKEN_URL=https://a1.example.org/x2"),
    ("a.sh", "login --password-stdin registry1.example.org"),
    ("a.sh", "export DB_PASSWORD=$DB_PASSWORD_1"),
    ("a.sh", "API_TOKEN=${API_TOKEN:-abc123def}"),
    ("a.md", "The secret: must have 12 characters and 2 digits."),
    ("a.md", "Set `password` to 3 words; the token: python3.11 or utf-8 or sha256 (see v2.1)."),
    ("a.md", "- token: see [the docs](https://example.org/v2/tokens#part-2)"),
    ("a.md", "password=os.environ1['X']"),
    ("a.rst", "token: str = field2(default=None)"),
    ("Dockerfile", "ENV TOKEN_TTL=3600s DB_PASSWORD_FILE=/run/secrets/db1"),
    ("a.yml", "token: ${{ secrets.TOKEN_1 }}"),
    ("package-lock.json", f'"integrity": "sha512-{BASE64}{BASE64}=="'),
    ("package-lock.json", f'"resolved": "https://registry.example.org/a/-/a-{HEX}.tgz"'),
    ("poetry.lock", f'{{file = "a.whl", hash = "sha256:{HEX}"}},'),
    ("uv.lock", f'sdist = {{ url = "x", hash = "sha256:{HEX}", size = 1 }}'),
    ("go.sum", f"example.org/a v1.0.0 h1:{BASE64}="),
    ("pnpm-lock.yaml", f"    resolution: {{integrity: sha512-{BASE64}}}"),
    ("requirements.txt", f"    --hash=sha256:{HEX} \\"),
    ("data.json", f'{{"integrity": "sha384-{BASE64}"}}'),
    ("a.py", f'DIGEST = "{HEX}"'),
    ("a.py", f'COMMIT = "{HEX[:40]}"'),
    ("a.py", 'ID = "123e4567-e89b-12d3-a456-426614174000"'),
    ("a.py", 'ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"'),
    ("a.py", 'PATH = "handlers/workbench_research/context/numberLines2/index-page.html"'),
    ("a.py", 'password = os.environ["PASSWORD_1"]'),
    ("a.py", "password = get_password(user1)"),
    ("a.py", 'password = "password"'),
    ("a.py", 'raise ValueError("secret: must be a table")'),
    ("a.yml", "password: ${{ secrets.PASSWORD_1 }}"),
    ("a.yml", "password: <your password 1>"),
    ("a.md", "postgresql://user:password@localhost/db"),
    ("a.md", "https://user:${TOKEN1}@example.org"),
    ("a.py", "def token(self, secret: str, password: str | None = None) -> Token2:"),
    ("a.ts", "const token: Token2 = await auth.getToken(request1);"),
    ("a.py", 'token_url = "https://example.org/oauth2/v1/token"'),
    ("a.html", f'<img src="data:image/png;base64,{BASE64 * 20}">'),
    ("a.svg", "M10 10h5v5h-5z m1.5-2.25c.414 0 .75.336.75.75"),
    ("a.py", "PASSWORD_MIN_LENGTH = 12"),
    ("a.py", 'API_KEY_HEADER = "X-Api-Key"'),
]


@pytest.mark.parametrize(("path", "line", "kind"), SECRETS)
def test_a_line_with_a_secret_is_found(path: str, line: str, kind: str) -> None:
    found = find_secrets(path, ["first = 1", line, "last"])

    assert [secret.line for secret in found] == [2]
    assert kind in found[0].kind


@pytest.mark.parametrize(("path", "line", "kind"), SERVICES)
def test_a_secret_of_each_service_is_found(path: str, line: str, kind: str) -> None:
    assert any(kind in found for _, found, _ in secrets._candidates(path, ["first = 1", line, "last"]))


@pytest.mark.parametrize(("path", "line"), [*UNQUOTED, *ENCODED])
def test_a_line_with_a_value_of_any_form_is_found(path: str, line: str) -> None:
    assert [secret.line for secret in find_secrets(path, ["first", line, "last"])] == [2]


def test_all_lines_of_a_key_in_base64_are_found() -> None:
    lines = [
        "data:",
        "  tls.key: |",
        f"    {PEM}{LONG_KEY[:36]}",
        f"    {LONG_KEY[:76]}",
        "    QUJDRA==",
        "kind: Secret",
    ]

    assert [secret.line for secret in find_secrets("a.yaml", lines)] == [3, 4, 5]


@pytest.mark.parametrize(("path", "line"), NONE)
def test_hashes_placeholders_and_code_are_not_secrets(path: str, line: str) -> None:
    assert find_secrets(path, ["first", line, "last"]) == []


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
@pytest.mark.parametrize("form", ["{}", "    {}", '    "{}\\n"', "# {}", "    '{}' +"])
def test_all_lines_of_a_private_key_are_found(kind: str, form: str) -> None:
    key = [
        f"-----BEGIN {kind}PRIVATE " + "KEY-----",
        *[BASE64 + BASE64[:24]] * 3,
        "qq==",
        f"-----END {kind}PRIVATE KEY-----",
    ]
    lines = ["a = 1", *(form.format(line) for line in key), "def f():", "    return 1"]

    found = find_secrets("a.py", lines)

    assert [secret.line for secret in found] == [2, 3, 4, 5, 6, 7]
    assert {secret.kind for secret in found} == {"Private Key"}


def test_a_private_key_that_is_cut_or_on_one_line_hides_no_other_lines() -> None:
    begin = "-----BEGIN PRIVATE " + "KEY-----"
    one_line = [f'K = "{begin}\\n{BASE64}\\n-----END PRIVATE KEY-----"', "def f(x):", "    return x[0]"]

    assert [secret.line for secret in find_secrets("a.py", one_line)] == [1]
    assert [secret.line for secret in find_secrets("a.py", [begin, BASE64, "def f(x):", "    return [x]"])] == [1, 2]


def test_lines_are_left_out_and_others_stay() -> None:
    lines = ["import os", f'KEY = "{"AK" + "IA"}2E0A8F3B1C9D7G5H"', "print(1)"]

    masked = mask(lines, find_secrets("a.py", lines))

    assert masked == ["import os", "[line left out: AWS Access Key]", "print(1)"]


def test_a_file_of_secrets_is_left_out() -> None:
    lines = [f"KEY_{number}_SECRET={RANDOM}{number}" for number in range(5)]

    assert mask([*lines, "DEBUG=1"], find_secrets("prod.ini", [*lines, "DEBUG=1"])) is None


@pytest.mark.parametrize(
    "lines",
    [
        [f'X = "{BASE64}"  # pragma: allowlist secret'],
        [f'const x = "{BASE64}" // pragma: whitelist secret'],
        ["# pragma: allowlist nextline secret", f'X = "{BASE64}"'],
    ],
)
def test_a_comment_allows_a_line(lines: list[str]) -> None:
    assert find_secrets("a.py", lines) == []
    assert len(find_secrets("a.py", [*lines, f'Y = "{BASE64}"'])) == 1


def test_globs_allow_files() -> None:
    lines = [f'X = "{BASE64}"']

    assert find_secrets("tests/data/a.py", lines, Allow(("tests/data/*",))) == []
    assert len(find_secrets("src/a.py", lines, Allow(("tests/data/*",)))) == 1


def test_the_baseline_allows_only_what_a_person_marked_as_false_alarm(tmp_path: Path) -> None:
    hashed = [hashlib.sha1(value.encode()).hexdigest() for value in (BASE64, RANDOM)]
    entries = [{"hashed_secret": hashed[0], "is_secret": False}, {"hashed_secret": hashed[1]}]
    (tmp_path / ".secrets.baseline").write_text(json.dumps({"results": {"a.py": entries}}))
    allow = load_allow(Root.of(str(tmp_path), "a test"))

    assert find_secrets("a.py", [f'X = "{BASE64}"'], allow) == []
    assert len(find_secrets("b.py", [f'X = "{BASE64}"'], allow)) == 1
    assert len(find_secrets("a.py", [f'secret = "{RANDOM}"'], allow)) == 1


def test_a_broken_baseline_is_an_error_and_a_missing_one_allows_nothing(tmp_path: Path) -> None:
    root = Root.of(str(tmp_path), "a test")
    assert load_allow(root) == Allow()
    for text in ("{", "[]", '{"results": []}', '{"results": {"a": [1]}}'):
        (tmp_path / ".secrets.baseline").write_text(text)
        with pytest.raises(ToolError):
            load_allow(root)


def test_nothing_is_verified_over_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_keywords: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for path, line, _ in SECRETS:
        assert find_secrets(path, [line])


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench_handlers.workspace.packages.find_spec", lambda _name: None)
    with pytest.raises(NotInstalledError, match=r"toolmason\[research\]"):
        find_secrets("a.py", ["x = 1"])


@pytest.mark.parametrize(
    "line", ["password=" * 400, "secret" + " " * 3_900, "://" + ":" * 3_900, '"' * 3_900, "eyJ" * 1_300]
)
def test_hostile_lines_take_little_time(line: str) -> None:
    find_secrets("a.yml", ["x"])
    start = time.process_time()
    find_secrets("a.yml", [line] * 20)
    assert time.process_time() - start < 5


def test_our_own_sources_have_few_false_alarms() -> None:
    room = Path(secrets.__file__).parents[1]
    found = [
        (path.name, secret)
        for path in sorted(room.rglob("*.py"))
        for secret in find_secrets(path.name, path.read_text(encoding="utf-8").splitlines())
    ]
    assert found == []
