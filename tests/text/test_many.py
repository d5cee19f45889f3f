"""Texts read many at a time are those read one by one: same texts, same report, same refusals."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.text.corpus import Script, open_corpus
from mingyue.text.document import Document
from mingyue.text.readers import Division

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

ODD = ["e\u0301", "\u0301", "\u1100\u1161", "\u2028", "𠀀", '"', "\\"]
PARTS = [*"明月光，。\n\n\r \u3000ab", *ODD]
texts = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)
chunks = st.sampled_from([1, 7, 64, 1 << 20])
scripts: st.SearchStrategy[Script] = st.sampled_from(["as-is", "as-is", "as-is", "simplified"])
rows = st.one_of(
    texts.map(lambda text: {"text": text}),
    texts.map(lambda text: {"n": [1, {"text": None}], "text": text, "title": "é"}),
    texts,
    st.sampled_from([{"text": None}, {"text": 3}, {"other": "a"}, {"text": "\ud800"}, [1], 3, {}]),
)
lines = st.one_of(
    rows.map(json.dumps),
    rows.map(lambda row: f" {json.dumps(row)} "),
    texts.map(lambda text: json.dumps({"text": text}, ensure_ascii=False)),
    st.sampled_from(["", " ", "{", '{"text": "a"} {"text": "b"}', '{"text":\n"a"}', "null"]),
)


def whole(pieces: list[Document]) -> list[str]:
    """The texts of the documents that come in these pieces."""
    found = [""]
    for piece in pieces:
        found[-1] += piece.text
        if piece.ends:
            found.append("")
    assert found.pop() == ""
    return found


def read(path: Path, many: bool, division: Division, script: Script) -> object:
    try:
        corpus = open_corpus(path, documents=division, script=script)
        pieces: list[Document] = []
        if many:
            for handful in corpus.handfuls():  # type: ignore[attr-defined]
                ends = handful.ends or [True] * len(handful.texts)
                pairs = zip(handful.texts, ends, strict=True)
                pieces += [Document(text, ends=end) for text, end in pairs]
        else:
            pieces = list(corpus)
        return whole(pieces), corpus.report
    except UserError as error:
        return str(error)


def check(path: Path, chunk: int, division: Division = "auto", script: Script = "as-is") -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mingyue.text.stream.CHUNK", chunk)
        patch.setattr("mingyue.text.readers.CHUNK", chunk)
        one_by_one, many = (read(path, many, division, script) for many in (False, True))
    assert many == one_by_one


@same_folder
@given(st.lists(texts, max_size=12).map("\n".join), chunks, scripts)
@pytest.mark.parametrize("division", ["file", "line", "blank"])
def test_text_files(
    tmp_path: Path, division: Division, text: str, chunk: int, script: Script
) -> None:
    (tmp_path / "text.txt").write_text(text, encoding="utf-8", newline="")
    check(tmp_path / "text.txt", chunk, division, script)


@same_folder
@given(st.lists(lines, max_size=8).map("\n".join), chunks, scripts)
def test_json_lines(tmp_path: Path, text: str, chunk: int, script: Script) -> None:
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8", newline="")
    check(tmp_path / "rows.jsonl", chunk, "auto", script)


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("明月光\n\n疑是\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "地上霜"}\n{"text": " "}\n', encoding="utf-8")
    (tmp_path / "c.csv").write_text("text\ncafe\u0301\n", encoding="utf-8")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "no.png").write_bytes(b"\0\1")
    for division in ("auto", "line", "blank"):
        check(tmp_path, 1 << 20, division)
    texts, report = read(tmp_path, True, "line", "as-is")  # type: ignore[misc]
    assert texts == ["明月光", "疑是", "地上霜", "café"]
    assert report.cleaning["nfc"] == report.cleaning["empty rows"] == 1


def test_a_mistake_is_found_at_its_line(tmp_path: Path) -> None:
    good = [json.dumps({"text": f"{i}"}) for i in range(500)]
    (tmp_path / "rows.jsonl").write_text("\n".join([*good, "", "{", *good]), encoding="utf-8")
    check(tmp_path / "rows.jsonl", 1000)
    assert "line 502" in str(read(tmp_path / "rows.jsonl", True, "auto", "as-is"))
