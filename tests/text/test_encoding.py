"""Encodings are found out, and never guessed wrong in silence."""

import io
from collections import Counter
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.text import encoding as module
from mingyue.text import refusals, stream
from mingyue.text.encoding import detect, named_encoding
from mingyue.text.plausible import FREQUENT, FREQUENT_TRADITIONAL, plausibility
from mingyue.text.refusals import BinaryFile

TRADITIONAL = "秦川雄帝宅，函谷壯皇居。綺殿千尋起，離宮百雉餘。裏外皆春色，銹劍掛牆隅。"
SIMPLIFIED = "秦川雄帝宅，函谷壮皇居。绮殿千寻起，离宫百雉余。今天天气很好，我们去公园散步。"
MIXED = "# 第一章 The Beginning\r\n\r\n他说：“你好，world！”\r\n2026 年 12 月。\r\n"


def put(folder: Path, content: bytes) -> Path:
    path = folder / "x.txt"
    path.write_bytes(content)
    return path


def read(path: Path) -> tuple[str, str]:
    encoding = detect(path)
    return encoding.name, "".join(stream.decode(path, encoding))


@pytest.mark.parametrize("text", [TRADITIONAL, SIMPLIFIED, MIXED, TRADITIONAL[:12], SIMPLIFIED[:6]])
@pytest.mark.parametrize(
    ("codec", "name"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32"),
        ("gb18030", "gb18030"),
        ("gbk", "gb18030"),
        ("cp950", "big5"),
    ],
)
def test_each_encoding_is_found(tmp_path: Path, text: str, codec: str, name: str) -> None:
    try:
        content = text.encode(codec)
    except UnicodeEncodeError:
        pytest.skip("this encoding lacks a character of this text")
    assert read(put(tmp_path, content)) == (name, text.replace("\r\n", "\n"))


# Ordinary text: half or more of its characters are frequent, the rest come from anywhere in use.
common = st.sampled_from(FREQUENT + "，。，。\n")
traditional = st.sampled_from("".join(c for c in FREQUENT_TRADITIONAL if c not in "峯綫羣祇"))
rare = st.sampled_from("".join(chr(c) for c in range(0x4E00, 0x9FA6)))


@st.composite
def texts(draw: st.DrawFn) -> str:
    body = draw(st.lists(st.one_of(common, traditional), min_size=12, max_size=80))
    for _ in range(draw(st.integers(0, len(body) // 8))):
        body[draw(st.integers(0, len(body) - 1))] = draw(rare)
    # No character may prevail: 一 alone, again and again, is in UTF-16 also a row of the letter N.
    assume(max(Counter(body).values()) * 4 <= len(body))
    return "".join(body)


@given(text=texts(), codec=st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "gb18030", "cp950"]))
@settings(max_examples=150, deadline=None)
def test_random_text_comes_back_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str, codec: str
) -> None:
    """The law against mojibake: what is read is what was written, or else there is an error."""
    try:
        content = text.encode(codec)
    except UnicodeEncodeError:
        return
    path = put(tmp_path_factory.getbasetemp(), content)
    try:
        assert read(path)[1] == text
    except UserError as error:
        assert "--encoding" in str(error)


# What looks most like UTF-16 without being it: zeros and ASCII, at most seven pairs.
zeros = st.lists(st.sampled_from(b"\x00\x00\x01\t\n A,0N\x80\xff"), min_size=1, max_size=14).map(
    bytes
)


@given(content=st.binary(min_size=1, max_size=300))
@example(b"\xff\xfe\x00")
@example(b"\xc0\xb4\xb3\xf3")
@example(b"\x00\x01\t\x00")
@example(b"A\x00\x0d\x00\xed\x20\x0d\x7c")
@example(b"\x00\x00\xfe\xff\x00\x00\x01\x00")
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_text_or_a_user_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = put(tmp_path_factory.getbasetemp(), content)
    try:
        name, text = read(path)
    except UserError as error:
        assert "\n" not in str(error)
        return
    # UTF-8, ASCII and byte order marks are certain; anything else must look like text, or be
    # UTF-16 with many characters of ASCII, each with its zero byte.
    if name not in {"utf-8", "utf-8-sig", "utf-16", "utf-32"}:
        wide = name in {"utf-16-le", "utf-16-be"} and sum(map(str.isascii, text)) >= 8
        assert wide or plausibility(text) > -11


@given(content=st.binary(max_size=3).map(lambda more: b"\x00" + more) | zeros)
@settings(max_examples=300, deadline=None)
def test_a_few_bytes_with_zeros_are_binary_unless_they_look_like_text(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = put(tmp_path_factory.getbasetemp(), content)
    try:
        _, text = read(path)
    except UserError:
        return
    assert content.startswith((b"\xff\xfe", b"\xfe\xff")) or plausibility(text) > -11


def test_short_utf_16_without_a_mark(tmp_path: Path) -> None:
    with pytest.raises(BinaryFile):
        read(put(tmp_path, b"\x00\x01\t\x00"))
    for codec in ("utf-16-le", "utf-16-be"):
        for text in ("hi", "明月\n", "第1章", "Où êtes-vous ?"):
            assert read(put(tmp_path, text.encode(codec))) == (codec, text)
        with pytest.raises(BinaryFile):  # so few letters beyond ASCII could be anything
            read(put(tmp_path, "Où ê".encode(codec)))


def test_a_reading_that_could_be_either_is_refused(tmp_path: Path) -> None:
    """Four characters usually tell; of one alone there may be two plausible readings."""
    path = put(tmp_path, "鵬程萬里".encode("cp950"))
    assert read(path) == ("big5", "鵬程萬里")
    close = [
        one
        for lead in range(0xB0, 0xC6)
        for one in [bytes((lead, 0xA4))]
        if -2 < plausibility(one.decode("gb18030")) - plausibility(one.decode("cp950")) < 2
    ]
    assert close
    with pytest.raises(UserError, match=r"gb18030.*big5|big5.*gb18030"):
        detect(put(tmp_path, close[0]))


def test_letters_of_two_bytes_stay_utf_8(tmp_path: Path) -> None:
    for text in (
        "été à Noël, garçon naïf",
        "Все люди рождаются свободными",
        "let δ be",
        "“é”",
        "Привет",
    ):
        assert read(put(tmp_path, text.encode())) == ("utf-8", text)


def test_gb_bytes_that_are_valid_utf_8_are_still_gb(tmp_path: Path) -> None:
    content = "小学".encode("gb18030")
    assert content.decode("utf-8") == "Сѧ"
    assert read(put(tmp_path, content)) == ("gb18030", "小学")
    content = "漠漠平沙".encode("gb18030")
    assert content.decode("utf-8") == "ĮĮƽɳ"
    with pytest.raises(UserError, match="--encoding"):  # rarer characters: who knows
        detect(put(tmp_path, content))


def test_utf_16_without_a_mark_whose_bytes_are_all_ascii(tmp_path: Path) -> None:
    content = "平生半爲".encode("utf-16-le")
    assert content.isascii()
    assert read(put(tmp_path, content)) == ("utf-16-le", "平生半爲")
    for text in ("plain\fpage\x1b[1mbold\x1b[0m", "Où êtes-vous ?"):
        assert read(put(tmp_path, text.encode())) == ("utf-8", text)
        assert read(put(tmp_path, text.encode("utf-16-be"))) == ("utf-16-be", text)
    assert read(put(tmp_path, b"bell\x07")) == ("utf-8", "bell\x07")


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (
            "대한민국의 모든 국민은 법률이 정하는 바에 의하여 교육을 받을 권리를 가진다." * 3,
            "euc_kr",
        ),
        ("すべての人間は、生まれながらにして自由であり、かつ平等である。" * 3, "shift_jis"),
        ("Où êtes-vous allés hier après-midi ? L'été, déjà vu, naïve." * 3, "cp1252"),
        ("Все люди рождаются свободными и равными в своем достоинстве." * 3, "cp1251"),
    ],
)
def test_other_encodings_are_refused_but_read_when_named(
    tmp_path: Path, text: str, codec: str
) -> None:
    path = put(tmp_path, text.encode(codec))
    with pytest.raises(UserError, match="--encoding"):
        detect(path)
    assert "".join(stream.decode(path, named_encoding(codec))) == text


@pytest.mark.parametrize("codec", ["utf-8", "gb18030", "cp950"])
def test_a_broken_byte_is_named(tmp_path: Path, codec: str) -> None:
    sound = (TRADITIONAL * 30).encode(codec)
    at = len(TRADITIONAL[:14].encode(codec))
    path = put(tmp_path, sound[:at] + b"\xff" + sound[at:])
    with pytest.raises(UserError, match=rf"byte {at} \(0xff\).*--encoding"):
        read(path)


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 64])
def test_an_offset_beyond_the_sample_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(module, "SAMPLE", 60)
    monkeypatch.setattr(stream, "CHUNK", chunk)
    sound = (SIMPLIFIED * 5).encode()
    path = put(tmp_path, sound + b"\xe4\xb8" + "山".encode())
    with pytest.raises(UserError, match=rf"byte {len(sound)} \(0xe4\)"):
        read(path)
    path = put(tmp_path, sound + b"\xe4\xb8")  # the file ends inside a character
    with pytest.raises(UserError, match=rf"byte {len(sound)} \(0xe4\)"):
        read(path)


def test_a_long_ascii_beginning_does_not_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SAMPLE", 64)
    text = "ascii only\n" * 40 + SIMPLIFIED
    assert read(put(tmp_path, text.encode("gb18030"))) == ("gb18030", text)


def test_a_sample_may_end_inside_a_character(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in range(30, 40):
        monkeypatch.setattr(module, "SAMPLE", size)
        for codec in ("utf-8", "gb18030", "utf-16-le"):
            assert read(put(tmp_path, SIMPLIFIED.encode(codec))) == (
                codec,
                SIMPLIFIED,
            )


@given(
    text=st.text(st.sampled_from("ab秦\r\n\U00020000\u0301é가\u1100\u1161 "), max_size=60),
    codec=st.sampled_from(["utf-8", "utf-16", "gb18030"]),
    chunk=st.integers(1, 17),
)
@settings(max_examples=150, deadline=None)
def test_a_stream_reads_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, text: str, codec: str, chunk: int
) -> None:
    path = put(tmp_path_factory.getbasetemp(), text.encode(codec))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "CHUNK", chunk)
        pieces = list(stream.decode(path, named_encoding(codec)))
    whole = io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)
    assert "".join(pieces) == whole
    assert list(stream.lines(pieces)) == whole.removesuffix("\n").split("\n")[: len(whole)]
    # Normalising piece by piece is normalising the whole.
    assert "".join(normalize("NFC", piece) for piece in pieces) == normalize("NFC", whole)


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.7\n%\xe2\xe3",
        b"PK\x03\x04rest of a docx",
        b"\x89PNG\r\n\x1a\n\x00\x00",
        b"\x7fELF\x02\x01\x01\x00",
        bytes(range(256)) * 4,
        b"\x00" * 100,
        b"plain at first" + b"\x00\x01\x02" * 40,
    ],
)
def test_binary_files_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BinaryFile) as caught:
        read(put(tmp_path, content))
    assert "x.txt" in str(caught.value) and "\n" not in str(caught.value)


def test_a_zero_byte_after_the_sample_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in (module, refusals):
        monkeypatch.setattr(where, "SAMPLE", 16)
    with pytest.raises(UserError, match="begins as text, but byte 30 is zero") as caught:
        read(put(tmp_path, "山".encode() * 10 + b"\0"))
    assert not isinstance(caught.value, BinaryFile)


@pytest.mark.parametrize("name", ["klingon", "hex", "", "rot13"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="--encoding"):
        named_encoding(name)


def test_the_locale_is_never_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("locale.getpreferredencoding", lambda *_: "ascii")
    monkeypatch.setenv("LC_ALL", "C")
    assert read(put(tmp_path, SIMPLIFIED.encode())) == ("utf-8", SIMPLIFIED)
