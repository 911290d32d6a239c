"""Files in the encodings of several languages: detected or refused, edited without another changed byte, undone."""

# ruff: noqa: RUF001  letters of several alphabets

from __future__ import annotations

import codecs
from contextlib import suppress
from typing import Any

import pytest
from edit_server import Place
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolError
from workbench_room import Room

from workbench_handlers.editing.reviews.propose import Proposer, find_or_create
from workbench_handlers.editing.reviews.settle import decide_and_settle, undo
from workbench_handlers.editing.reviews.store import Decision
from workbench_handlers.editing.text.apply import apply_request
from workbench_handlers.editing.text.file_text import read_version
from workbench_handlers.editing.text.request import APPEND, OVERWRITE, Edit, parse_request
from workbench_handlers.workspace.encodings import codec_of, guess
from workbench_handlers.workspace.roots import locate

CHINESE = "# 配置文件\n标题 = 数据库连接设置\n说明 = 请不要修改此文件，除非您知道自己在做什么。\n超时 = 30\n"
TAIWAN = "# 設定檔\n標題 = 資料庫連線設定\n說明 = 請不要修改此檔案，除非您知道自己在做什麼。\n"
JAPANESE = "# 設定ファイル\nタイトル = データベース接続の設定\n説明 = このファイルを変更しないでください。\n"
KOREAN = "# 설정 파일\n제목 = 데이터베이스 연결 설정\n설명 = 무엇을 하는지 모르면 이 파일을 수정하지 마십시오.\n"
RUSSIAN = "# Файл настроек\nЗаголовок = Параметры подключения к базе данных\nОписание = Не изменяйте этот файл.\n"
GERMAN = "# Einstellungen\nTitel = Verbindung für große Datenbanken\nHinweis = Bitte nicht ändern – sonst 30 €\n"
SPANISH = "# Configuración\ntítulo = Conexión de la base de datos de España\nnota = No modificar mañana\n"
POLISH = "# Ustawienia\ntytuł = Połączenie z bazą danych\nuwaga = Proszę nie zmieniać tego pliku, źródło\n"
GREEK = "# Ρυθμίσεις της εφαρμογής\nτίτλος = Σύνδεση με τη βάση δεδομένων\n"
TURKISH = "# Ayarlar dosyası\nbaşlık = Veritabanı bağlantısı\naçıklama = Değiştirmeyiniz, çalışıyor\n"
TEXTS = {
    "gbk": CHINESE,
    "big5": TAIWAN,
    "cp932": JAPANESE,
    "euc_jp": JAPANESE,
    "euc_kr": KOREAN,
    "cp1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "cp1252": GERMAN,
    "cp1250": POLISH,
    "cp1253": GREEK,
    "cp1254": TURKISH,
    "utf-16-le": CHINESE,
    "utf-16-be": KOREAN,
    "utf-8": TAIWAN,
}
"""Texts by the codec in which they are detected."""
MARKS = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
FILES = [
    *(pytest.param(codec, text, b"", id=codec) for codec, text in TEXTS.items()),
    *(pytest.param(codec, TEXTS[codec], mark, id=f"{codec} with BOM") for codec, mark in MARKS.items()),
    pytest.param("cp1252", SPANISH, b"", id="Spanish"),
]


def apply(data: bytes | None, edit: Edit, *, encoding: str = "", charset: str = "") -> bytes:
    request = parse_request(
        match_text=None,
        new_string=None,
        edits=[edit],
        expected_replacements=None,
        bypass_match_text_limit=True,
        encoding=encoding,
    )
    return apply_request(request, data, "f", charset=charset).data


def refused(data: bytes | None, edit: Edit, **options: str) -> ToolError:
    with pytest.raises(ToolError) as error:
        apply(data, edit, **options)
    return error.value


@pytest.mark.parametrize("newline", ["\n", "\r\n", "mixed"])
@pytest.mark.parametrize(("codec", "text", "mark"), FILES)
def test_a_file_is_read_edited_and_undone_without_another_changed_byte(
    room: Room, place: Place, *, codec: str, text: str, mark: bytes, newline: str
) -> None:
    first, *rest = text.splitlines(keepends=True)
    lines = [first, *(line.replace("\n", "\r\n" if newline == "mixed" else newline) for line in rest)]
    first = lines[0] = first if newline == "mixed" else first.replace("\n", newline)
    data = mark + "".join(lines).encode(codec)
    path = room.write("a.txt", data)
    word = lines[1].strip()

    shown = room.call("read_files", files=[{"path": "a.txt"}])
    proposer = Proposer(name="test", transport="stdio")
    request = parse_request(
        match_text=word,
        new_string=f"{word} = {word}",
        edits=None,
        expected_replacements=None,
        bypass_match_text_limit=False,
    )
    review = find_or_create(place.store, locate("a.txt", room.roots), request, proposer)
    decide_and_settle(place.store, review, Decision("approve", "test"))

    assert shown.text.endswith("".join(lines))
    expected = "".join([lines[0], lines[1].replace(word, f"{word} = {word}"), *lines[2:]])
    assert path.read_bytes() == mark + expected.encode(codec)
    undo(place.store, review.id)
    assert path.read_bytes() == data


@pytest.mark.parametrize("codec", [codec for codec in TEXTS if codec not in MARKS])
def test_a_detected_encoding_is_never_another_one(codec: str) -> None:
    """Each part of a text is detected as it is, or not at all."""
    lines = TEXTS[codec].splitlines(keepends=True)
    parts = lines + [line[:size] + "\n" for line in lines for size in (4, 8, 12, 20)]
    for part in parts:
        data = part.encode(codec)
        found = "" if data.isascii() else guess(data).codec
        assert not found or data.decode(found) == part, (part, found)


@pytest.mark.parametrize(
    "data",
    [
        "# 注释\nx = 1\n".encode("gbk"),
        "# 註解\nx = 1\n".encode("big5"),
        "# 주석\nx = 1\n".encode("euc_kr"),
        "# Да\nx = 1\n".encode("cp1251"),
        b"20 \xb0C\n",
        b"\x81\x8d\x8f\x90\x9d\n",
        bytes(range(1, 256)),
    ],
)
def test_an_uncertain_encoding_is_refused_with_the_argument_to_send(data: bytes) -> None:
    for edit in (Edit("x = 1", "x = 2"), Edit(APPEND, "a"), Edit(OVERWRITE, "a")):
        error = refused(data, edit)
        assert error.code == "UNKNOWN_ENCODING"
        assert '"encoding": "' in error.message


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gbk", "# 注释\nx = 1\n"),
        ("GB2312", "# 注释\nx = 1\n"),
        ("Big5", "# 註解\nx = 1\n"),
        ("Shift-JIS", "# 注\nx = 1\n"),
        ("EUC-KR", "# 주석\nx = 1\n"),
        ("windows-1251", "# Да\nx = 1\n"),
        ("windows-1252", "20 °C\nx = 1\n"),
        ("UTF-16LE", "x = 1\n"),
        ("utf-16-be", "x = 1\n"),
    ],
)
def test_the_argument_decides_where_the_text_does_not(encoding: str, text: str) -> None:
    codec = codec_of(encoding)

    data = apply(text.encode(codec), Edit("x = 1", "x = 2"), encoding=encoding)

    assert data == text.replace("1\n", "2\n").encode(codec)


@pytest.mark.parametrize(
    "encoding", ["klingon", "utf-7", "iso-2022-jp", "unicode_escape", "base64", "cp037", "idna", "\0"]
)
def test_an_invalid_name_of_an_encoding_is_refused(encoding: str) -> None:
    error = refused(b"a\n", Edit("a", "b"), encoding=encoding)

    assert error.code == "INVALID_ARGUMENT"
    assert "`gbk`" in error.message


@pytest.mark.parametrize(
    ("data", "encoding", "code"),
    [
        (codecs.BOM_UTF8 + b"a\n", "gbk", "INVALID_ARGUMENT"),
        (codecs.BOM_UTF16_LE + b"a\0", "utf-16-be", "INVALID_ARGUMENT"),
        ("é\n".encode("cp1252"), "utf-8", "NOT_TEXT"),
        (b"\xff\xff a\n", "gbk", "NOT_TEXT"),
    ],
)
def test_an_argument_that_contradicts_the_bytes_is_refused(data: bytes, encoding: str, code: str) -> None:
    assert refused(data, Edit("a", "b"), encoding=encoding).code == code


@pytest.mark.parametrize(
    ("codec", "new", "character"),
    [
        ("gbk", "한", "U+D55C (`한`)"),
        ("big5", "é", "U+00E9 (`é`)"),
        ("cp932", "😀", "U+1F600 (`😀`)"),
        ("euc_kr", "é", "U+00E9 (`é`)"),
        ("cp1251", "é", "U+00E9 (`é`)"),
        ("cp1252", "ł", "U+0142 (`ł`)"),
    ],
)
def test_a_character_that_the_file_cannot_hold_is_named(codec: str, new: str, character: str) -> None:
    error = refused(TEXTS[codec].encode(codec), Edit(APPEND, f"{new}\n"))

    assert error.code == "NOT_ENCODABLE"
    assert character in error.message


@pytest.mark.parametrize(
    ("charset", "encoding", "text", "data"),
    [
        ("latin1", "", "é\n", b"\xe9\n"),
        ("utf-8", "", "é\n", b"\xc3\xa9\n"),
        ("utf-8-bom", "", "é\n", b"\xef\xbb\xbf\xc3\xa9\n"),
        ("utf-16le", "", "é\n", codecs.BOM_UTF16_LE + b"\xe9\0\n\0"),
        ("utf-16be", "", "é\n", codecs.BOM_UTF16_BE + b"\0\xe9\0\n"),
        ("latin1", "gbk", "é\n", "é\n".encode("gbk")),
        ("unknown", "", "é\n", b"\xc3\xa9\n"),
        ("", "utf-16", "é\n", codecs.BOM_UTF16_LE + b"\xe9\0\n\0"),
    ],
)
def test_a_new_file_has_the_encoding_of_the_call_or_the_project(
    charset: str, encoding: str, text: str, data: bytes
) -> None:
    assert apply(None, Edit(OVERWRITE, text), charset=charset, encoding=encoding) == data


@pytest.mark.parametrize(
    ("section", "path", "is_used"),
    [
        ("*", "a.txt", True),
        ("*.txt", "src/a.txt", True),
        ("*.{md,txt}", "a.txt", True),
        ("src/**.txt", "src/b/a.txt", True),
        ("/src/*.txt", "src/a.txt", True),
        ("file{1..3}.txt", "file2.txt", True),
        ("[ab].txt", "b.txt", True),
        ("?.txt", "a.txt", True),
        ("*.md", "a.txt", False),
        ("src/*.txt", "src/b/a.txt", False),
        ("[!ab].txt", "b.txt", False),
        ("file{1..3}.txt", "file4.txt", False),
        ("[", "a.txt", False),
    ],
)
def test_the_charset_of_editorconfig_is_that_of_its_sections(
    room: Room, person: Any, section: str, path: str, is_used: bool
) -> None:
    room.write(".editorconfig", f"root = true\n\n[{section}]\ncharset = latin1\n")
    file = room.write(path, b"plain\n")

    assert not room.run("append_text", path=path, content="\u00e9\n", client=person).is_error

    assert file.read_bytes() == b"plain\n" + "\u00e9\n".encode("latin-1" if is_used else "utf-8")


def test_a_nearer_editorconfig_comes_first_and_the_top_ends_the_search(room: Room, person: Any) -> None:
    room.write(".editorconfig", "[*]\ncharset = latin1\n")
    room.write("a/.editorconfig", "[*]\ncharset = utf-16le\n")
    room.write("b/.editorconfig", "root = true\n")
    (room.outside / "config").write_text("[*]\ncharset = utf-16be\n", encoding="utf-8")
    (room.project / "c").mkdir()
    (room.project / "c" / ".editorconfig").symlink_to(room.outside / "config")
    for folder in "abc":
        answer = room.run("write_file", path=f"{folder}/new.txt", content="é", client=person)
        assert not answer.is_error, answer.text

    written = [(room.project / folder / "new.txt").read_bytes() for folder in "abc"]
    assert written == [codecs.BOM_UTF16_LE + b"\xe9\0", b"\xc3\xa9", b"\xe9"]


def test_read_files_names_the_encoding_and_takes_another(room: Room) -> None:
    room.write("a.txt", "# 注释\n".encode("gbk"))

    unsure = room.call("read_files", files=[{"path": "a.txt"}]).text
    sure = room.call("read_files", files=[{"path": "a.txt", "encoding": "gbk"}]).text

    assert "not UTF-8, shown as Latin-1" in unsure
    assert '"encoding": "' in unsure
    assert sure.endswith("# 注释\n")
    assert "not an encoding" in room.call("read_files", files=[{"path": "a.txt", "encoding": "x"}]).text


@given(
    st.sampled_from([codec for codec in TEXTS if codec != "utf-8"]),
    st.lists(st.binary(max_size=4), max_size=4),
    st.data(),
)
def test_bytes_outside_of_an_edit_stay_whatever_they_are(codec: str, junk: list[bytes], data: st.DataObject) -> None:
    """Invalid bytes and bytes with two forms stay in each line that the edit does not touch."""
    lines = [line.encode(codec) for line in TEXTS[codec].splitlines(keepends=True)]
    wide = codec in MARKS
    for piece in [] if wide else junk:
        at = data.draw(st.integers(0, len(lines)))
        lines.insert(at, piece.replace(b"\n", b"").replace(b"\r", b"").replace(b"<", b"") + b"\n")
    before, after = b"".join(lines[:2]), b"".join(lines[2:])
    new = data.draw(st.text(TEXTS[codec].replace("\n", ""), max_size=5))
    current = before + "<target>\n".encode(codec) + after
    with suppress(ToolError):  # some junk is invalid in the codec
        written = apply(current, Edit("<target>", new), encoding=codec)
        assert written == before + f"{new}\n".encode(codec) + after
    if not wide:
        file = read_version(current, codec)
        assert file.encode(file.text) == current
