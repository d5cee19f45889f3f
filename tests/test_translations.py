"""Every message has its Chinese, with the same placeholders, and no translation is left over.

The source is walked as a syntax tree: the first argument of every ``tr(…)`` and ``Message(…)``
must be a literal, for otherwise nobody could know what there is to translate. Two kinds of words
become output as data instead: descriptions of exhibits' knobs and names of their pages
(``language.translated``).
"""

import ast
import json
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import mingyue
from mingyue import language

ROOT = Path(mingyue.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
TRANSLATIONS = sorted((ROOT / "translations" / "zh").glob("*.json"))


def _calls(file: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func
            called = name.id if isinstance(name, ast.Name) else getattr(name, "attr", "")
            if called in ("tr", "Message"):
                yield node


def _descriptions(tree: ast.AST) -> Iterator[ast.expr]:
    """Of the fields of classes that are knobs."""
    for node in ast.walk(tree):
        names = [node.name, *map(ast.unparse, node.bases)] if isinstance(node, ast.ClassDef) else []
        if any("Knobs" in name for name in names):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "Field":
                    yield from (k.value for k in call.keywords if k.arg == "description")


def _names_of_pages(tree: ast.AST) -> Iterator[ast.expr]:
    """The keys of every dict that is called ``pages``, as an argument or a variable."""
    for node in ast.walk(tree):
        named = isinstance(node, ast.keyword) and node.arg == "pages"
        if isinstance(node, ast.Assign):
            named = any(ast.unparse(target) == "pages" for target in node.targets)
        if isinstance(node, ast.AnnAssign):
            named = ast.unparse(node.target) == "pages"
        if named and isinstance(value := getattr(node, "value", None), ast.Dict):
            yield from (key for key in value.keys if key is not None)


def _words(file: Path) -> Iterator[ast.expr]:
    """What becomes output as data; exhibits are in ``explain/``."""
    if "explain" in file.relative_to(ROOT).parts:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        yield from _descriptions(tree)
        yield from _names_of_pages(tree)


def _messages() -> dict[str, ast.Call]:
    found: dict[str, ast.Call] = {}
    for file in FILES:
        for call in _calls(file):
            first = call.args[0] if call.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found[first.value] = call
    return found


def _chinese() -> dict[str, str]:
    merged: dict[str, str] = {}
    for file in TRANSLATIONS:
        merged.update(json.loads(file.read_text(encoding="utf-8")))
    return merged


def _placeholders(message: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(message) if name is not None}


MESSAGES, CHINESE = _messages(), _chinese()
WORDS = {word.value for file in FILES for word in _words(file) if isinstance(word, ast.Constant)}


def test_there_is_something_to_test():
    assert len(MESSAGES) > 100 and len(TRANSLATIONS) > 3
    assert {"layer", "head", "the first token drawn"} <= WORDS


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_messages_are_literals(file: Path):
    for call in _calls(file):
        first = call.args[0] if len(call.args) == 1 else None
        literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
        assert literal, f"{file.name}:{call.lineno}: takes one literal, the rest by name"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_words_that_become_output_as_data_are_literals(file: Path):
    for word in _words(file):
        literal = isinstance(word, ast.Constant) and isinstance(word.value, str)
        assert literal, f"{file.name}:{word.lineno}: {ast.unparse(word)}"


@pytest.mark.parametrize("words", sorted(WORDS))
def test_such_words_are_translated(words: str):
    assert CHINESE.get(words, "").strip()
    with language.speaking("zh"):
        assert language.translated(words) == CHINESE[words]


@pytest.mark.parametrize("message", sorted(MESSAGES))
def test_a_message_is_translated_with_the_same_placeholders(message: str):
    assert message in CHINESE
    assert _placeholders(CHINESE[message]) == _placeholders(message)
    assert CHINESE[message].strip()


@pytest.mark.parametrize("message", sorted(MESSAGES))
def test_a_message_gets_what_its_placeholders_name(message: str):
    """``tr`` fills placeholders only if it is given values, and must be given all of them."""
    call = MESSAGES[message]
    if any(keyword.arg is None for keyword in call.keywords):  # **values: known only when run
        return
    given = {keyword.arg for keyword in call.keywords}
    assert given == _placeholders(message)


@pytest.mark.parametrize("file", TRANSLATIONS, ids=lambda f: f.stem)
def test_no_translation_is_left_over(file: Path):
    known = MESSAGES.keys() | WORDS
    assert [m for m in json.loads(file.read_text(encoding="utf-8")) if m not in known] == []


def test_files_do_not_contradict_each_other():
    seen: dict[str, tuple[str, str]] = {}
    for file in TRANSLATIONS:
        for message, chinese in json.loads(file.read_text(encoding="utf-8")).items():
            name, other = seen.setdefault(message, (file.stem, chinese))
            assert other == chinese, f"{message!r} differs in {name} and {file.stem}"


def test_the_languages_take_turns():
    message = "{path}: no such folder, so there is no model"
    language.use("zh")
    assert language.tr(message, path="月") == CHINESE[message].format(path="月")
    language.use("en")
    assert language.tr(message, path="月") == "月: no such folder, so there is no model"


def test_the_locale_decides_unless_told(monkeypatch: pytest.MonkeyPatch):
    language.use(None)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert language.current() == "en"
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert language.current() == "zh"
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert language.current() == "en"
