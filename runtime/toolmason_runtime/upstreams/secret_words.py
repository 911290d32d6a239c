"""Find words for secrets in questions of another MCP server, in many languages and in disguise.

Servers must not request secrets in forms (MCP 2025-11-25, elicitation). Texts are compared by their skeletons, with one
letter for all that look alike: https://www.unicode.org/reports/tr39/#Confusable_Detection
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final

from toolmason_runtime.shared.look_alikes import PLAIN_LETTERS
from toolmason_runtime.shared.visible_text import escape_invisible

_PARTS_OF_WORDS: Final = """
password|passwd|passphrase|passcode|passkey|passwort|kennwort|losungswort|passord|wachtwoord|lösenord|adgangskode
salasana|tunnusluku|jelszó|heslo|hasło|şifre|sifre|mật khẩu|kata sandi|mot de passe|motdepasse|contraseña
contrasenia|palavra passe|parola d ordine|parola segreta|pasahitz|contrasenya|пароль|пароля|пароли|паролем|парол
токен|секрет|пин код|пинкод|учетные данные|учётные данные|закрытый ключ|закрытого ключа|приватный ключ
приватного ключа|ключ доступа|ключ api|ключа api|api ключ|код подтверждения|код из смс|одноразовый код|сид фраз
мнемоническ|кредитной карт|кредитную карт|кредитная карт|номер карты|банковской карты|снилс|κωδικό|κωδικός
συνθηματικό|סיסמה|סיסמא|كلمة المرور|كلمة السر|رمز عبور|पासवर्ड|รหัสผ่าน|密码|密碼|口令|暗号|验证码|驗證碼|动态码
動態碼|密钥|密鑰|金鑰|私钥|私鑰|令牌|凭证|凭据|憑證|助记词|助記詞|信用卡|卡号|卡號|安全码|身份证号|身分證|パスワード
ぱすわーど|パスコード|パスフレーズ|暗証番号|秘密鍵|秘密の|シークレット|トークン|認証コード|確認コード|ワンタイム
キー api|apiキー|アクセスキー|認証情報|クレジットカード|カード番号|セキュリティコード|リカバリーフレーズ
シードフレーズ|ニーモニック|マイナンバー|비밀번호|비밀 번호|암호|패스워드|패스코드|핀번호|핀 번호|토큰|인증번호
인증 번호|인증코드|인증 코드|확인 코드|개인키|개인 키|비밀키|비밀 키|시크릿|api 키|액세스 키|자격 증명|신용카드
신용 카드|카드번호|카드 번호|주민등록|주민번호|니모닉|시드 구문|복구 구문|복구 문구|secret|segredo|segreto|geheim
credential|credencial|credenzial|zugangsdaten|anmeldedaten|token|apikey|privatekey|secretkey|accesskey|einmalcode
sicherheitscode|bestätigungscode|bestaetigungscode|verifizierungscode|zugangscode|freischaltcode|schlüssel api
api schlüssel|api schluessel|privaten schlüssel|privater schlüssel|privaten schluessel|zugriffsschlüssel|kreditkarte
kartennummer|prüfziffer|prüfnummer|sozialversicherung|cryptogramme|seedphrase|creditcard|cardnumber|lozink|лозинк
zapork|құпиясөз|kodeord|lykilorð|wagwoord|neno la siri|pasfhocal|facal faire|cyfrinair|парола|slaptažod|salasõna
salasona|fjalëkalim|nenosiri|kata laluan|hasła|haseł|hasłem|jelszav|hesla|گذرواژه|گذر واژه|رمز ورود|كلمه المرور
كلمه السر|الرقم السري|סיסמת|סיסמ|პაროლ|գաղտնաբառ|পাসওয়ার্ড|கடவுச்சொல்|పాస్‌వర్డ్|പാസ്‌വേഡ്|ಪಾಸ್‌ವರ್ಡ್|પાસવર્ડ
ਪਾਸਵਰਡ|මුරපදය|ពាក្យសម្ងាត់|ລະຫັດຜ່ານ|စကားဝှက်|құпия сөз|passvvord|pasword|passwrd|passowrd|pasvord|authenticator
connection string|connectionstring|recoveryseed
"""
"""Words that count anywhere, also inside of other words."""

_WORDS: Final = """
pass word|pass words|pass phrase|pass code|pass key|pwd|pswd|passw|psw|pw|mdp|senha|senhas|clave|claves|pin|pins
pincode|pinkode|pinnummer|pin number|nip|tan|mtan|otp|totp|2fa|mfa|two factor|zwei faktor|deux facteurs|dos factores
dois fatores|due fattori|one time code|one time pin|onetime code|einmal code|verification code|security code
authentication code|auth code|authorization code|authorisation code|confirmation code|login code|sms code
access code|recovery code|recovery codes|backup code|backup codes|code de vérification|code de sécurité
code de confirmation|code à usage unique|código de verificación|código de seguridad|código de un solo uso
código de verificação|código de segurança|código de uso único|codice di verifica|codice di sicurezza|codice monouso
api key|api keys|private key|private keys|secret key|access key|access keys|ssh key|ssh keys|signing key
encryption key|decryption key|master key|account key|clé api|clés api|clé d api|clé privée|clé d accès|llave privada
llave api|llave de acceso|chave api|chave de api|chave da api|chave privada|chave de acesso|chiave api
chiave privata|chiave di accesso|jeton|jetons|identifiants|bearer|jwt|session cookie|auth cookie|login data
login details|seed phrase|seed words|recovery phrase|recovery words|mnemonic|mnemonic phrase|wallet phrase
phrase de récupération|phrase mnémonique|frase semilla|frase de recuperación|frase semente|frase de recuperação
frase di recupero|frase seme|recovery seed|secret recovery|wallet seed|credit card|debit card|card number|cvv|cvc
cvn|card verification|carte de crédit|carte bancaire|numéro de carte|tarjeta de crédito|tarjeta de débito
número de tarjeta|cartão de crédito|número do cartão|carta di credito|numero della carta|numero di carta|iban
bank account number|routing number|ssn|github pat|gitlab pat|personal access|digit code|code from your|code we sent
code you received|session id|session key|cookie|cookie value|puk|your pass|type pass|geslo|gesla|parool|parooli
paroli|parolă|parolă nouă|adgangskoden|social security|sécurité sociale|seguridad social|seguro social
segurança social|codice fiscale|passport number|пин
"""
"""Words that count alone."""

_NAMES: Final = "pass|cred|creds|dbpass|userpass|adminpass|rootpass|dsn"
"""Words that count in the names of fields."""

_HARMLESS: Final = """
maxtokens|tokencount|tokenlimit|tokenbudget|max tokens|maximum tokens|min tokens|number of tokens
how many tokens|token count|token limit|token budget|parola chiave|parole chiave|secretary|secretaries
secretariat|palabra clave|palabras clave|tokenizer|tokenize
"""
"""Frequent words that contain one of the others."""

_UNSPACED: Final = "password|passphrase|passwort|kennwort|motdepasse|contraseña|palavrapasse|apikey|privatekey"
"""Words that count also with spaces between any of their letters."""

_WARNING: Final = re.compile(
    r"\b(?:do not|don't|never) (?:give|enter|share|send|provide|type|include|tell)\b([^.:;!?)\n]{0,200})", re.IGNORECASE
)
"""A part of a sentence against giving secrets, such as `do not give us your phone number, pin, or other info`."""
_OTHER_CLAUSE: Final = re.compile(
    r"\b(?:enter|type|give|provide|send|share|tell|confirm|write|need|use|put|insert|input|fill|submit|paste|reply|but|and"
    r"|instead|here|now|then|unless|until|except|without|forget|before|below|field|only|just)",
    re.IGNORECASE,
)
"""Words with which such a part could still be a request."""
_CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER_AT_END: Final = re.compile(r"(?<=[^\W\d_])[0-9]+(?![^\W_])")
_SIGN_IN_WORD: Final = re.compile(r"(?<=[^\W_])[!|](?=[^\W_])")
_SCRIPT_CHANGE: Final = re.compile(
    r"(?<=[a-z])(?=[\u1100-\u11ff\u2e80-\uffff])|(?<=[\u1100-\u11ff\u2e80-\uffff])(?=[a-z])"
)
_WORD: Final = re.compile(r"[^\W_]+")
_SPACED_LETTERS: Final = re.compile(r"(?<!\S)\S(?: \S)+(?!\S)")


def find_secret_word(texts: Iterable[str], names: Iterable[str] = ()) -> str:
    """Return a word for a secret in texts, or in names of fields, in its plain form; empty without one."""
    parts = [*map(_without_warnings, texts), *(names := [*names])]
    spelled = [letters.replace(" ", "") for part in parts for letters in _SPACED_LETTERS.findall(_words(part))]
    for skeleton, word in _skeletons(_WORDS).items():
        if any(skeleton in letters for letters in spelled):
            return word
    for reading in (" ".join(map(_skeleton, parts)), " ".join(_skeleton(_CAMEL_CASE.sub(" ", part)) for part in parts)):
        padded = f" {reading} "
        for harmless in [*_skeletons(_HARMLESS)] * 2:  # twice, since two neighbours share a space
            padded = padded.replace(f" {harmless} ", " ; ")
        for skeleton, word in _skeletons(_PARTS_OF_WORDS).items():
            if skeleton in padded:
                return word
        for skeleton, word in _skeletons(_WORDS).items():
            if f" {skeleton} " in padded:
                return word
        unspaced = reading.replace(" ", "")
        for skeleton, word in _skeletons(_UNSPACED).items():
            if skeleton in unspaced:
                return word
    in_names = {part for name in names for part in _skeleton(_CAMEL_CASE.sub(" ", name)).split()}
    return next((word for skeleton, word in _skeletons(_NAMES).items() if skeleton in in_names), "")


def _without_warnings(text: str) -> str:
    """Return a text without the warnings against giving secrets, which good servers write beside their fields."""
    return _WARNING.sub(lambda found: found[0] if _OTHER_CLAUSE.search(found[1]) else " ", text)


@cache
def _skeletons(words: str) -> dict[str, str]:
    """Return the skeletons of a list of words, each with its word."""
    return {_skeleton(word): word for word in words.replace("\n", "|").split("|") if word}


def _skeleton(text: str) -> str:
    """Return a text in which words that look alike are equal, and spelled words are joined: `p-i-n` becomes `pin`."""
    return _SPACED_LETTERS.sub(lambda letters: letters[0].replace(" ", ""), _words(text))


def _words(text: str) -> str:
    """Return the words of a text, with a space between two: `P\u0430ss_W0rd:` becomes `pass word`."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    plain = "".join(map(_plain_letter, unicodedata.normalize("NFKD", folded)))
    plain = _SIGN_IN_WORD.sub("i", _NUMBER_AT_END.sub("", plain))
    return " ".join(_WORD.findall(_SCRIPT_CHANGE.sub(" ", plain.translate(PLAIN_LETTERS))))


@cache
def _plain_letter(char: str) -> str:
    """Return a character without accents, in Latin if it is a variant of a Latin letter; empty if it is invisible."""
    if char.isascii():
        return char
    category = unicodedata.category(char)
    if category[0] == "Z" or char == "\x85":
        return " "
    if category[0] in "MC" or escape_invisible(char, keep="") != char:
        return ""
    name = unicodedata.name(char, "")
    if "LATIN" not in name and not name.startswith("REGIONAL INDICATOR"):
        return char
    letter = name.partition(" WITH ")[0].rpartition(" ")[2]
    return letter.lower() if len(letter) == 1 else char
