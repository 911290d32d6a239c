"""Words for secrets are found in all languages and disguises, and texts of an upstream are shown as what they are."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.upstreams.foreign_text import MAX_QUOTED_LENGTH, MAX_QUOTED_LINES, label, quotation, visible_text
from toolmason_runtime.upstreams.questions import QuestionRefusedError, form_question
from toolmason_runtime.upstreams.secret_words import find_secret_word

UPSTREAM = Upstream(name="ev", command=("ev",))
ENGLISH = """
password|Enter your PASSWORD!|passwd|passphrase|passcode|PIN|your P.I.N.|secret|client secret|access token|API key
private key|ssh key|credentials|OTP|2FA code|one-time code|verification code|seed phrase|recovery phrase|credit card
card number|CVV|CVC2|SSN|social-security number|pwd|GitHub PAT|recovery seed|6-digit code|session id|Paste your cookie
code from your authenticator app|connection string|PUK|type your pass
"""
OTHER_LANGUAGES = """
Passwort|Kennwort|Geheimzahl|TAN|API-Schlüssel|Zugangsdaten|Kreditkarte|Einmalcode|mot de passe|clé API|clé privée
code de vérification|carte bancaire|contraseña|CONTRASENA|clave secreta|tarjeta de crédito|senha|palavra-passe
chave de API|cartão de crédito|parola d'ordine|chiave privata|carta di credito|codice di verifica
пароль|ПИН-код|закрытый ключ|номер карты|токен|密码|密 码|密碼|验证码|API密钥|PIN码
lozinka|Лозинка|zaporka|geslo|Парола|slaptažodis|parool|paroli|parolă|salasõna|fjalëkalimi|nenosiri|kata laluan
hasła|jelszava|گذرواژه|كلمه المرور|סיסמתך|პაროლი|Գաղտնաբառ|পাসওয়ার্ড|கடவுச்சொல்|పాస్‌వర్డ్|ລະຫັດຜ່ານ|құпия сөз
パスワード|ﾊﾟｽﾜｰﾄﾞ|暗証番号|APIキー|비밀번호|암호|인증번호|API 키|신용카드|wachtwoord|hasło|lösenord|şifre|mật khẩu
"""
DISGUISES = """
pass_word|pass-word|pass word|pas sword|p a s s w o r d|PaSsWoRd|userPassword|dbPassword2|p4ssw0rd|p@$$word|P.A.S.S-word|Type a P I N
Never give up. Your PIN|Do not share, enter your PIN|Do not send mail but your PIN|Do not give others: PIN
p\u0430ssword|\u0440\u0430\u0455\u0455w\u043erd|passw\u03bfrd|pass\u200bword|pa\u00adssword|pass\u2028word|s\u0332ecret
P\u00c5SSW\u00d8RD|\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44|\U0001d429\U0001d422\U0001d427
\u1d18\u1d00\ua731\ua731\u1d21\u1d0f\u0280\u1d05|\U0001f17f\U0001f170\U0001f182\U0001f182\U0001f186\U0001f17e\U0001f181d
\U0001f1f5 \U0001f1ee \U0001f1f3|p1n|P!N|passvvord|pasword|cardPIN|pin1|t0ken|accessToken|apiKey|APIKEY|kennw\u043ert|\u043fa\u0440\u043e\u043b\u044c
"""  # noqa: E501  one line for each kind
HARMLESS = """
Who are you?|Please provide inputs for the following fields:|name|firstLine|email|homepage|birthdate|keyword|key|keynote
How many tokens should the summary have?|max_tokens|maxTokens|tokenizer|Which branch?|compass direction
Secretary's name|Spin the wheel|opinion|shipping address|Pinned notes|palabras clave|postal code|country code
language code|Which passage?|tank size|bypass cache|passenger count|Wähle eine Datei|Quel fichier ?|имя файла|文件名
ファイル名|파일 이름|Delete 3 files?|signing up|Passing grade
Which cookies do you like?|Accept cookies?|path|compatible|dispatch|two digits|parola chiave
Your favorite integer (do not give us your phone number, pin, or other sensitive info)
"""


def words(text: str) -> list[str]:
    return [word for word in text.replace("\n", "|").split("|") if word]


@pytest.mark.parametrize("text", words(ENGLISH + OTHER_LANGUAGES + DISGUISES))
def test_a_question_with_a_word_for_a_secret_is_refused(text: str) -> None:
    in_each_place: list[tuple[str, dict[str, Any]]] = [
        (text, {}),
        ("Hi", {"a": {"type": "string", "title": text}}),
        ("Hi", {"a": {"type": "number", "description": f"({text})"}}),
        ("Hi", {text: {"type": "string"}}),
    ]
    for message, properties in in_each_place:
        with pytest.raises(QuestionRefusedError, match="asks for a secret"):
            form_question(UPSTREAM, message, {"type": "object", "properties": properties})


@pytest.mark.parametrize("text", words(HARMLESS))
def test_other_questions_are_shown(text: str) -> None:
    name = text if len(text) < 60 else "a"
    form = form_question(UPSTREAM, text, {"properties": {name: {"type": "string", "title": text}}})

    assert form.message == f'The MCP server "ev" asks:\n> {text}'
    assert form.schema["properties"] == {name: {"type": "string", "title": text}}


def test_a_word_that_is_split_over_fields_or_lines_is_found() -> None:
    fields = {"a": {"type": "string", "title": "Pass", "description": "word of sudo"}}
    rows: list[tuple[str, dict[str, Any]]] = [("Your pass\nword", {}), ("Hi", fields)]
    for message, properties in rows:
        with pytest.raises(QuestionRefusedError):
            form_question(UPSTREAM, message, {"properties": properties})


def test_a_form_that_is_too_large_is_refused_before_its_words_are_compared() -> None:
    choices = {f"a{n}": {"type": "string", "enum": [f"{n} {i} {'b' * 90}" for i in range(100)]} for n in range(19)}
    start = time.process_time()
    with pytest.raises(QuestionRefusedError, match="too large"):
        form_question(UPSTREAM, "Hi", {"properties": {"open": {"type": "string"}, **choices}})
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("name", ["pass", "user_pass", "dbPass", "creds", "dbpass", "userpass"])
def test_short_words_are_refused_only_in_names(name: str) -> None:
    assert find_secret_word([], [name])
    assert not find_secret_word(["the boarding pass"])


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "format": "password"},
        {"type": "string", "format": "PassWord"},
        {"type": "string", "writeOnly": True},
        {"anyOf": [{"type": "string", "format": "password"}, {"type": "null"}]},
    ],
)
def test_fields_that_hide_their_text_are_refused(field: dict[str, object]) -> None:
    with pytest.raises(QuestionRefusedError, match="secret"):
        form_question(UPSTREAM, "Hi", {"properties": {"a": field}})


@pytest.mark.parametrize(
    "field",
    [
        {},
        {"type": "object"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"$ref": "#/x"},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "string", "enum": [1]},
        {"type": "string", "enum": ["a", "a\u200b", "a\\u200b"]},
        {"type": "string", "enum": ["x" * 101]},
        {"type": "string", "enum": list(map(str, range(101)))},
        {"type": "string", "oneOf": [1]},
        {"type": "string", "oneOf": {"const": "a"}},
        {"anyOf": [{"type": "string"}, {"type": "number"}]},
    ],
)
def test_forms_that_mcp_does_not_allow_are_refused(field: dict[str, object]) -> None:
    with pytest.raises(QuestionRefusedError):
        form_question(UPSTREAM, "Hi", {"properties": {"a": field}})


def test_the_keywords_of_mcp_are_kept_and_others_are_left_out() -> None:
    fields: dict[str, dict[str, Any]] = {
        "a": {"type": "string", "format": "email", "minLength": 1, "maxLength": 9, "default": "x", "pattern": "(a+)+$"},
        "b": {"type": "integer", "minimum": 0, "maximum": 9.5, "default": 2, "x-html": "<b>"},
        "c": {"type": "boolean", "default": True},
        "d": {"type": "string", "enum": ["1", "2"], "enumNames": ["One", "Two"], "default": "2"},
        "e": {"type": "string", "oneOf": [{"const": "1", "title": "One"}], "default": "none of them"},
        "f": {"type": "array", "items": {"type": "string", "enum": ["1"]}, "minItems": 1, "default": ["1"]},
        "g": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "G"},
        "h": {"type": "number", "minimum": float("nan"), "default": True},
    }
    form = form_question(UPSTREAM, "Hi", {"properties": fields, "required": ["a", "x"], "$comment": "c"})

    removed = {"a": "pattern", "b": "x-html", "e": "default"}
    expected = {
        name: {key: value for key, value in part.items() if key != removed.get(name)} for name, part in fields.items()
    }
    expected |= {"g": {"type": "string", "title": "G"}, "h": {"type": "number"}}
    assert form.schema == {"type": "object", "properties": expected, "required": ["a"]}


@given(st.text())
def test_quotations_and_labels_are_visible_and_bounded(text: str) -> None:
    lines = quotation(text).split("\n")
    assert all(line.startswith(">") for line in lines)
    assert all(line.isprintable() for line in [*lines, label(text), visible_text(text)])


def test_long_texts_are_cut_with_the_number_of_missing_characters() -> None:
    assert quotation("x" * 5_000) == f"> {'x' * MAX_QUOTED_LENGTH}\n> [... 3,000 characters more]"
    assert quotation("x\n" * 100).split("\n")[MAX_QUOTED_LINES:] == ["> [... 71 lines more]"]
    assert label("x" * 300) == f"{'x' * 200}[... 100 characters more]"


@pytest.mark.parametrize("part", ["a ", "pass", "\u0430", "1", "a!", "p.", "a b", "aA"])
def test_the_search_for_words_takes_little_time(part: str) -> None:
    find_secret_word([part])
    start = time.process_time()
    find_secret_word([part * 8_000])
    assert time.process_time() - start < 0.5
