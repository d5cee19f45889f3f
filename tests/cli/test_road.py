"""The main road on a small text: train, write, eval, info, data, resume."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mingyue.text.verse import lay_out
from tests.cli.conftest import TINY, Call

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def test_train_tells_what_was_chosen_how_it_goes_and_what_comes_next(call: Call, texts: Path):
    done = call("train", "poems.txt", "--documents", "blank", "--out", "told", *TINY)
    assert done.code == 0, done.err
    assert not CONTROL.search(done.out)
    assert "model: " in done.out and "2 blocks, 2 heads, d_model 32, block_size 32" in done.out
    looks = re.findall(r"^step (\d)/6 · training [\d.]+ · held out [\d.]+", done.out, re.MULTILINE)
    assert looks == ["1", "2", "3", "4", "5", "6"]
    assert re.search(r"^    \S", done.out, re.MULTILINE), "a sample"
    assert "mingyue write told" in done.out
    about = json.loads((texts / "told" / "mingyue.json").read_text(encoding="utf-8"))
    assert about["recipe"]["train"]["steps"] == 6
    assert about["recipe"]["data"]["documents"] == "blank"
    assert about["recipe"]["model"]["d_model"] == 32


def test_train_in_chinese(call: Call):
    done = call(
        *("--lang", "zh", "train", "poems.txt", "--documents", "blank", "--out", "told-zh", *TINY),
        *("--sample-prompt", "天地", "--position", "learned", "--norm", "layernorm", "--tie"),
        *("--activation", "gelu", "--no-qk-norm", "--bias", "--optimizer", "adamw", "--no-compile"),
    )
    assert done.code == 0, done.err
    assert "接下来：" in done.out and "留出" in done.out
    assert "learned, gelu, layernorm, bias, tied" in done.out
    assert "    天地" in done.out
    assert "held out" not in done.out


def test_train_into_a_run_is_refused_and_resume_goes_on(call: Call, trained: Path):
    again = call("train", "poems.txt", "--documents", "blank", "--out", "run", *TINY)
    assert again.code == 2 and "--resume" in again.err and again.err.count("\n") == 1
    resumed = call("train", "--out", "run", "--resume")
    assert resumed.code == 0, resumed.err
    other = call("train", "--out", "run", "--resume", "--d-model", "64")
    assert other.code == 2 and "d_model" in other.err


def test_write_is_one_text_and_the_same_for_a_seed(call: Call, trained: Path):
    first = call("write", "run", "天地", "--seed", "3", "--max-tokens", "9", "--layout", "plain")
    assert first.code == 0
    assert first.out.startswith("天地") and len(first.out.rstrip("\n")) <= 11 * 3
    again = call("write", "run", "天地", "--seed", "3", "--max-tokens", "9", "--layout", "plain")
    assert again.out == first.out
    other = call("write", "run", "天地", "--seed", "4", "--max-tokens", "9", "--layout", "plain")
    assert other.out != first.out


def test_a_streamed_text_is_the_text(call: Call, trained: Path):
    """Piece by piece, laid out as verse or not: the same as generated at once."""
    for seed in range(8):
        asked = ("write", "run", "天", "--seed", str(seed), "--max-tokens", "40")
        text = json.loads(call(*asked, "--json").out)
        whole = text["prompt"] + text["text"]
        assert call(*asked, "--layout", "plain").out == whole + "\n"
        assert call(*asked, "--layout", "verse").out == lay_out(whole) + "\n"


def test_the_reason_is_said_where_the_text_did_not_end_by_itself(call: Call, trained: Path):
    done = call("write", "run", "--max-tokens", "2", "--seed", "1")
    assert "2" in done.err and "--max-tokens" in done.err and "--max-tokens" not in done.out


def test_write_several(call: Call, trained: Path):
    done = call("write", "run", "天", "--n", "3", "--seed", "1", "--json", "--max-tokens", "5")
    texts = [json.loads(line) for line in done.out.splitlines()]
    assert len(texts) == 3 and len({t["seed"] for t in texts}) == 3
    assert {t["prompt"] for t in texts} == {"天"}
    told = {"prompt", "text", "reason", "seed", "n_tokens", "notes", "logprob", "tokens"}
    assert set(texts[0]) == told


def test_several_texts_are_printed_batch_by_batch(
    call: Call, trained: Path, monkeypatch: pytest.MonkeyPatch
):
    from mingyue.generation.writer import Completion, Writer

    def broken_off(*_: object, **__: object) -> Iterator[Completion]:
        yield Completion("天", "地", "end", 1, 1)
        yield Completion("天", "月", "end", 2, 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(Writer, "samples", broken_off)
    assert call("write", "run", "天", "--n", "9") == (130, "天地\n\n天月\n", "")
    assert len(call("write", "run", "天", "--n", "9", "--json").out.splitlines()) == 2


def test_all_sampling_options_reach_the_model(call: Call, trained: Path):
    options = [
        *("--temperature", "0.5", "--top-k", "5", "--top-p", "0.9", "--min-p", "0.01"),
        *("--typical", "0.9", "--repetition-penalty", "1.2", "--stop", "，", "--stop", "。"),
    ]
    done = call("write", "run", "天", "--seed", "1", "--max-tokens", "30", *options, "--json")
    assert done.code == 0, done.err
    assert not set(json.loads(done.out)["text"]) & set("，。")
    greedy = [call("write", "run", "天", "--temperature", "0", "--seed", s).out for s in "12"]
    assert greedy[0] == greedy[1]


def test_unknown_characters_are_named_and_handled_as_asked(call: Call, trained: Path):
    refused = call("write", "run", "龘天")
    assert refused.code == 2 and "龘" in refused.err and refused.err.count("\n") == 1
    dropped = call("write", "run", "龘天", "--unknown", "drop", "--max-tokens", "3")
    assert dropped.code == 0 and dropped.out.startswith("天") and "龘" in dropped.err
    mapped = call("write", "run", "天地,", "--max-tokens", "3", "--layout", "plain")
    assert mapped.code == 0 and mapped.out.startswith("天地，") and "," in mapped.err


def test_the_prompt_may_come_from_the_input(
    call: Call, trained: Path, monkeypatch: pytest.MonkeyPatch
):
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\ufeff天地\n".encode())))
    done = call("write", "run", "-", "--json", "--max-tokens", "3")
    assert json.loads(done.out)["prompt"] == "天地"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("天地".encode("gbk"))))
    refused = call("write", "run", "-")
    assert refused.code == 2 and "UTF-8" in refused.err


def test_eval_reports_the_held_out_loss(call: Call, trained: Path):
    done = call("eval", "run", "--json")
    assert done.code == 0, done.err
    values = json.loads(done.out)
    about = json.loads((trained / "mingyue.json").read_text(encoding="utf-8"))
    assert values["n_tokens"] == about["data"]["val_tokens"]
    assert values["nats_per_token"] == pytest.approx(about["result"]["val_loss"], abs=1e-4)
    shown = call("eval", "run").out
    assert f"{values['nats_per_token']:.4f}" in shown and f"{values['bits_per_byte']:.4f}" in shown


def test_eval_on_another_text_counts_all_of_it(call: Call, trained: Path, tmp_path: Path):
    (tmp_path / "other.txt").write_text("天地玄黄\n宇宙洪荒\n", encoding="utf-8")
    other = str(tmp_path / "other.txt")
    values = json.loads(call("eval", "run", "--on", other, "--documents", "line", "--json").out)
    assert (values["n_documents"], values["n_tokens"], values["n_characters"]) == (2, 10, 8)


def test_eval_says_when_the_text_is_gone_or_changed(call: Call, texts: Path, tmp_path: Path):
    text = tmp_path / "mine.txt"
    poems = (texts / "poems.txt").read_text(encoding="utf-8")
    text.write_text(poems, encoding="utf-8")
    run = str(tmp_path / "run")
    assert call("train", str(text), "--documents", "blank", "--out", run, *TINY).code == 0
    text.write_text(poems[:-100], encoding="utf-8")
    changed = call("eval", run)
    assert changed.code == 2 and "--on" in changed.err and changed.err.count("\n") == 1
    text.unlink()
    gone = call("eval", run)
    assert gone.code == 2 and "--on" in gone.err and "mine.txt" in gone.err


def test_info_shows_the_parts_and_the_origin(call: Call, trained: Path):
    done = call("info", "run")
    assert done.code == 0 and not CONTROL.search(done.out)
    for word in ("qwen3", "attention", "held-out loss", "poems.txt", "fingerprint", "torch"):
        assert word in done.out
    values = json.loads(call("info", "run", "--json").out)
    assert sum(values["parameters_by_part"].values()) == values["parameters"]
    assert values["model"]["d_model"] == 32 and values["status"] == "done"
    assert "参数量" in call("info", "run", "--lang", "zh").out


def test_info_survives_what_somebody_else_wrote(call: Call, trained: Path, tmp_path: Path):
    import shutil

    folder = tmp_path / "strange"
    shutil.copytree(trained, folder)
    for about in ({}, {"result": 3, "recipe": [], "data": {"documents": "many"}, "command": "x"}):
        (folder / "mingyue.json").write_text(json.dumps(about))
        done = call("info", str(folder))
        assert done.code == 0 and "attention" in done.out
        assert call("eval", str(folder)).code == 2


def test_data_counts_and_exports(call: Call, texts: Path):
    done = call("data", "poems.txt", "--documents", "blank", "--sample", "2", "--export", "o.jsonl")
    assert done.code == 0, done.err
    assert "80 documents" in done.out and "utf-8" in done.out
    rows = [json.loads(line) for line in (texts / "o.jsonl").read_text("utf-8").splitlines()]
    poems = (texts / "poems.txt").read_text("utf-8").strip().split("\n\n")
    assert [row["text"] for row in rows] == poems
    longest = max(len(line) for poem in poems for line in poem.splitlines())
    assert f"longest line: {longest} characters" in done.out
    assert f"different characters: {len(set(''.join(poems)))}" in done.out


def test_an_exported_text_reads_back(call: Call, texts: Path):
    for name in ("back.txt", "back.jsonl"):
        assert call("data", "poems.txt", "--documents", "blank", "--export", name).code == 0
        again = call("data", name, "--documents", "blank", "--export", f"2{name}")
        assert again.code == 0, again.err
        assert "80 documents" in again.out
    assert (texts / "back.txt").read_bytes() == (texts / "2back.txt").read_bytes()


def test_one_document_is_one(call: Call, tmp_path: Path):
    (tmp_path / "one.txt").write_text("天地玄黄，宇宙洪荒。\n", encoding="utf-8")
    done = call("data", str(tmp_path / "one.txt"), "--export", str(tmp_path / "o.txt"))
    assert "1 document written" in done.out


def test_info_says_the_status_in_the_language_of_the_reader(call: Call, trained: Path):
    assert "status: done\n" in call("info", "run").out
    chinese = call("--lang", "zh", "info", "run").out
    assert "已完成" in chinese and "done" not in chinese
