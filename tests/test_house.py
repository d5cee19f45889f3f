"""The house rules that a program can check: floors, sizes, what must not be in the tree."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mingyue

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mingyue"
PYTHON = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "scripts")
    for path in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts
)
LONGEST, LONGEST_TEST = 400, 500
"""Lines of a file; most have less than 300."""

TEXTS = {".py", ".md", ".toml", ".json", ".txt", ".yml", ".yaml", ".cfg", ".sh", ""}
SKIPPED = {".git", ".venv", "runs", "build", "dist", "__pycache__", "corpora", "node_modules"}


def _tree() -> list[Path]:
    """The text files a checkout has; what tools leave behind in hidden folders is not ours."""
    return [
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file()
        and path.suffix in TEXTS
        and not (set(path.relative_to(ROOT).parts[:-1]) & SKIPPED)
        and not any(
            part.startswith(".") and part != ".ci" for part in path.relative_to(ROOT).parts[:-1]
        )
        and not any(part.endswith(".egg-info") for part in path.parts)
    ]


TREE = _tree()


def test_imports_go_only_downwards():
    program = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        env={**_environment(), "PYTHONPATH": str(SOURCE.parent)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


def test_the_tests_run_on_this_tree():
    assert Path(mingyue.__file__).parent == SOURCE


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_short(path: Path):
    limit = LONGEST_TEST if ROOT / "tests" in path.parents else LONGEST
    assert len(path.read_text(encoding="utf-8").splitlines()) <= limit


def test_most_files_of_the_package_are_really_short():
    lengths = [len(p.read_text(encoding="utf-8").splitlines()) for p in SOURCE.rglob("*.py")]
    assert sum(n <= 300 for n in lengths) / len(lengths) > 0.9


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE))
)
def test_modules_say_what_they_are_for(path: Path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


# Spelled so that this file does not contain what it forbids.
_HOSTS = [
    r"pypi\." + "org",
    "pythonhosted" + r"\.",
    r"registry\." + "npm",
    r"npmjs\." + "(com|org)",
    r"npmmirror" + r"\.",
    r"download\." + "pytorch",
    "huggingface" + r"\.co",
    r"mirrors?\." + r"[a-z]",
    "--" + "index-url",
    "--" + "extra-index-url",
    "--" + "find-links",
]
_PLACES = [
    r"/ho" + r"me/\w",
    r"/Us" + r"ers/\w",
    r"/wo" + r"rk\b",
    r"/ro" + r"ot\b",
    r"C:\\Us" + "ers",
]


@pytest.mark.parametrize("path", TREE, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_registry_and_no_place_of_some_machine_is_named(path: Path):
    text = path.read_text(encoding="utf-8", errors="replace")
    for pattern in [*_HOSTS, *_PLACES]:
        found = re.search(pattern, text)
        assert not found, f"{path.name}: {found.group() if found else ''}"


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE))
)
def test_opening_a_file_never_runs_code(path: Path):
    """No pickle, nothing built on it, no eval: models and data from strangers stay data."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names]
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {module.split(".")[0] for module in modules}
            assert not roots & {"pickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in {("torch", "load"), ("torch", "save")}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile"}
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant) and node.value.value is False


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE))
)
def test_text_files_are_opened_with_an_encoding(path: Path):
    """Otherwise the locale decides, and a Chinese file is read wrongly on somebody's machine."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "read_text":
                assert node.args or any(k.arg == "encoding" for k in node.keywords), node.lineno
            if node.func.attr == "write_text":
                assert any(k.arg == "encoding" for k in node.keywords), node.lineno
