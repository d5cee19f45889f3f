"""Each kind of file becomes documents, as a stream, or ends in one line that names the place."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.language import Message
from mingyue.text import readers, stream
from mingyue.text.corpus import open_corpus
from mingyue.text.document import Document


def texts(source: Path | str, **options: str) -> list[str]:
    return [document.text for document in open_corpus(source, **options)]  # type: ignore[arg-type]


def refusal(source: Path | str, **options: str) -> str:
    with pytest.raises(UserError) as caught:
        texts(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---- text --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a.TXT", "a.md", "a.text", "a"])
def test_a_text_file_is_one_document(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, "第一行\r\n\r\n第二行\r")
    assert texts(path) == ["第一行\n\n第二行\n"]


def test_lines_and_blocks(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", "\n一\n二\n \n\n三\n")
    assert texts(path, documents="line") == ["一", "二", "三"]
    assert texts(path, documents="blank") == ["一\n二", "三"]


@given(
    text=st.text(st.sampled_from("a春\n \r\u0301"), min_size=1, max_size=80),
    chunk=st.integers(1, 30),
)
@settings(max_examples=100, deadline=None)
def test_borders_of_chunks_do_not_show(
    tmp_path_factory: pytest.TempPathFactory, text: str, chunk: int
) -> None:
    path = put(tmp_path_factory.getbasetemp() / "x.txt", "春" + text)
    with pytest.MonkeyPatch.context() as patch:
        results = []
        for size in (1 << 20, chunk):
            patch.setattr(stream, "CHUNK", size)
            patch.setattr(readers, "CHUNK", size)
            for division in ("file", "line", "blank"):
                whole, joined = "", []
                corpus = open_corpus(path, documents=division)
                for document in corpus:
                    whole += document.text
                    if document.ends:
                        joined.append(whole)
                        whole = ""
                assert not whole  # the last piece ends its document
                assert corpus.report.documents == len(joined)
                assert corpus.report.characters == sum(map(len, joined))
                results.append((division, joined))
    assert results[:3] == results[3:]


def test_a_long_file_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHUNK", 64)
    path = put(tmp_path / "a.txt", "春風又綠江南岸。\n" * 20)
    documents = list(open_corpus(path))
    assert len(documents) > 5
    assert [d.ends for d in documents] == [False] * (len(documents) - 1) + [True]
    assert "".join(d.text for d in documents) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("content", ["", " \n\t\r\n\u3000", "\ufeff"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv"])
@pytest.mark.parametrize("documents", ["auto", "line", "blank"])
def test_nothing_to_read_is_one_line(
    tmp_path: Path, content: str, name: str, documents: str
) -> None:
    path = put(tmp_path / name, content)
    assert name in refusal(path, documents=documents)


def test_many_short_blocks_get_advice(tmp_path: Path) -> None:
    poems = "\n\n".join(f"{i}床前明月光，\n疑是地上霜。" for i in range(30))
    corpus = open_corpus(put(tmp_path / "a.txt", poems))
    assert sum(1 for _ in corpus) == 1
    assert any("--documents blank" in str(warning) for warning in corpus.report.warnings)
    prose = "\n\n".join("很长的一段。" * 100 for _ in range(30))
    corpus = open_corpus(put(tmp_path / "b.txt", prose))
    assert sum(1 for _ in corpus) == 1
    assert not corpus.report.warnings


def test_a_text_field_for_a_text_file_is_said_to_do_nothing(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "一")
    put(tmp_path / "b.jsonl", '{"foo": "二"}')
    for source, said in ((tmp_path, 1), (tmp_path / "a.txt", 1), (tmp_path / "b.jsonl", 0)):
        corpus = open_corpus(source, text_field="foo")
        assert list(corpus)
        warning = Message("--text-field has no effect on text files")
        assert corpus.report.warnings == [warning] * said
    corpus = open_corpus(tmp_path / "a.txt")
    assert list(corpus) and not corpus.report.warnings


# ---- tables ------------------------------------------------------------------------------


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"text": "一\r\n二", "title": "题", "author": "某"},
        {"text": ""},
        {"text": None},
        {"text": "三\u2028四", "title": 5},
    ]
    content = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + '\n\n"五"\n'
    corpus = open_corpus(put(tmp_path / "a.jsonl", content))
    assert list(corpus) == [Document("一\n二", "题", "某"), Document("三\u2028四"), Document("五")]
    assert corpus.report.cleaning == {"empty rows": 2}
    path = put(tmp_path / "b.jsonl", '{"body": "一", "n": 1}\n')
    assert texts(path, text_field="body") == ["一"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "JSON"),
        ("[1]", "object"),
        ("7", "object"),
        ('{"body": "x", "n": 1}', "body, n"),
        ('{"text": 5}', "5"),
        ('{"text": "\\ud83d"}', "surrogate"),
        ("[" * 100_000, "JSON"),
    ],
)
def test_a_bad_json_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    message = refusal(put(tmp_path / "a.jsonl", '{"text": "一"}\n\n' + line + "\n"))
    assert "line 3" in message
    assert says in message


def test_csv(tmp_path: Path) -> None:
    long = "很长" * 100_000  # the csv module alone stops at 131,072
    content = f'id,text,author\n1,"一，""二"",\n三",某\n2,,\n3,{long},\n'
    corpus = open_corpus(put(tmp_path / "a.csv", content))
    assert list(corpus) == [Document('一，"二",\n三', author="某"), Document(long)]
    assert corpus.report.cleaning == {"empty rows": 1}
    assert texts(put(tmp_path / "b.csv", "body\n一\n二\n"), text_field="body") == ["一", "二"]
    assert texts(put(tmp_path / "c.csv", "a;text\n1;一,二\n")) == ["一,二"]
    assert texts(put(tmp_path / "d.tsv", "a\ttext\n1\t一\n")) == ["一"]
    assert texts(
        put(tmp_path / "e.csv", "编号,正文\n1,一首\n".encode("gbk")), text_field="正文"
    ) == ["一首"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"body": "一"}\n{"body": "二"}\n'),
        ("a.jsonl", '{"body": "一", "n": 1}\n'),
        ("a.csv", "body\n一\n二\n"),
        ("a.tsv", "body\tn\n一\t1\n"),
    ],
)
def test_no_other_column_is_taken_for_the_text(tmp_path: Path, name: str, content: str) -> None:
    path = put(tmp_path / name, content)
    message = refusal(path)
    assert all(word in message for word in (name, "line 1", "“text”", "body", "--text-field"))
    assert texts(path, text_field="body")[0] == "一"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("id,body\n1,一\n", "id, body"),
        ("id,text\n1,一,二\n", "line 2"),
        ('id,text\n1,"一\n', "line 2"),
        ('id,text\n1,"一"二\n', "line 2"),
    ],
)
def test_a_bad_csv_is_named(tmp_path: Path, content: str, says: str) -> None:
    assert says in refusal(put(tmp_path / "a.csv", content))


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    rows = {"text": ["一", None, "二"] * 300, "author": ["某", "某", None] * 300, "n": [1] * 900}
    parquet.write_table(arrow.table(rows), path)
    corpus = open_corpus(path)
    assert list(corpus) == [Document("一", author="某"), Document("二")] * 300
    assert corpus.report.cleaning == {"empty rows": 300}
    assert "text, author, n" in refusal(path, text_field="body")
    assert "row 1" in refusal(path, text_field="n")
    assert "a.parquet" in refusal(put(path, b"PAR1 torn"))


def test_a_missing_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert "pip install pyarrow" in refusal(put(tmp_path / "a.parquet", b"PAR1"))
    assert "pip install datasets" in refusal("hf:some/name")


@pytest.mark.slow
def test_a_local_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    put(tmp_path / "set" / "train.jsonl", '{"text": "一", "author": "某"}\n{"text": "二"}\n')
    corpus = open_corpus(f"hf:{tmp_path / 'set'}")
    assert [d.text for d in corpus] == ["一", "二"]
    before = corpus.fingerprint()
    assert before == corpus.fingerprint()
    put(tmp_path / "set" / "train.jsonl", '{"text": "一", "author": "某"}\n{"text": "三"}\n')
    assert open_corpus(f"hf:{tmp_path / 'set'}").fingerprint() != before
    assert "nowhere" in refusal(f"hf:{tmp_path / 'nowhere'}")


# ---- folders -----------------------------------------------------------------------------


def test_a_folder_is_read_in_order(tmp_path: Path) -> None:
    put(tmp_path / "b" / "2.txt", "乙")
    put(tmp_path / "b" / "10.md", "丙")
    put(tmp_path / "a.txt", "甲乙丙丁，天地玄黃。".encode("gb18030"))
    put(tmp_path / "c.jsonl", '{"text": "丁"}')
    put(tmp_path / "README", "戊")
    put(tmp_path / "picture.png", b"\x89PNG\r\n\x1a\n\x00")
    put(tmp_path / "old.txt", b"PK\x03\x04")  # not a text, whatever its name says
    put(tmp_path / "empty.txt", "\n")
    put(tmp_path / ".git" / "x.txt", "no")
    put(tmp_path / ".hidden.txt", "no")
    corpus = open_corpus(tmp_path)
    assert [d.text for d in corpus] == ["戊", "甲乙丙丁，天地玄黃。", "丙", "乙", "丁"]
    assert corpus.report.encodings == {"utf-8": 4, "gb18030": 1}
    assert corpus.report.documents == 5
    [warning] = map(str, corpus.report.warnings)
    assert "3 files" in warning
    assert all(name in warning for name in ("empty.txt", "old.txt", "picture.png"))


def test_one_file_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "甲")
    put(tmp_path / "b.png", b"\x89PNG")
    corpus = open_corpus(tmp_path)
    assert list(corpus)
    [warning] = map(str, corpus.report.warnings)
    assert warning.startswith("1 file passed over") and "b.png" in warning


def test_a_bad_file_in_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "甲")
    put(tmp_path / "b.txt", "春風又綠江南岸。".encode() * 9 + b"\xff")
    assert "b.txt" in refusal(tmp_path)


@pytest.mark.parametrize("start", ["明月光\n", "moonlight\n"])
@pytest.mark.parametrize("ending", [".txt", ".jsonl", ".csv"])
@pytest.mark.parametrize("at", [0, 2**18 - 1, 2**18, 2**20 - 1, 2**20, 2**20 + 2**18, 3 * 2**20])
@pytest.mark.parametrize("encoding", [None, "utf-8"])
def test_a_zero_byte_early_is_no_text_and_late_is_damage(
    tmp_path: Path, start: str, ending: str, at: int, encoding: str | None
) -> None:
    line = json.dumps({"text": start}, ensure_ascii=False) + "\n" if ending == ".jsonl" else start
    raw = line.encode()
    sound = b"text\n" if ending == ".csv" else b""
    sound += raw * ((at - len(sound)) // len(raw))
    put(tmp_path / "a.txt", "甲")
    bad = put(tmp_path / f"b{ending}", sound + b" " * (at - len(sound)) + b"\0" + raw)
    corpus = open_corpus(tmp_path, encoding=encoding)
    for read in (corpus.__iter__, corpus.handfuls):  # type: ignore[attr-defined]
        if at < 2**18:
            assert len(list(read())) == 1
            [warning] = map(str, corpus.report.warnings)
            assert bad.name in warning
        else:
            with pytest.raises(UserError, match=f"{bad.name}: begins as text, but byte {at} is"):
                list(read())


@pytest.mark.parametrize("at", [0, 2**18 - 1, 2**18, 2**20 - 1, 2**20, 3 * 2**20])
def test_a_byte_that_does_not_fit_is_refused_wherever_it_is(tmp_path: Path, at: int) -> None:
    put(tmp_path / "a.txt", "甲")
    line = "春風又綠江南岸。\n".encode()
    before = line * (at // len(line))
    before += b" " * (at - len(before))
    put(tmp_path / "b.txt", before + b"\xff" + line * 9)
    with pytest.raises(UserError, match=rf"b.txt: byte {at} \(0xff\)"):
        corpus = open_corpus(tmp_path)
        list(corpus)
    with pytest.raises(UserError, match=rf"b.txt: byte {at} \(0xff\)"):
        list(open_corpus(tmp_path).handfuls())  # type: ignore[attr-defined]


def test_empty_folders_and_missing_paths(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    put(tmp_path / "pictures" / "a.png", b"\x89PNG")
    put(tmp_path / "blank" / "a.txt", " \n")
    for name in ("empty", "pictures", "blank"):
        assert name in refusal(tmp_path / name)
    assert "tang, songci" in refusal(tmp_path / "nowhere.txt")
    assert ".parquet" in refusal(put(tmp_path / "a.docx", b"x"))
