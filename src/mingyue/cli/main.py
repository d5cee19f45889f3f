"""The entry of ``mingyue``: choose the language, run the command, and end with a clear word.

Exit codes: 0 all went well; 1 training diverged; 2 something about what was asked is wrong (one
line on the error stream says what); 130 interrupted by Ctrl-C. A traceback is always our bug.
"""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TextIO

from mingyue import language
from mingyue.errors import UserError
from mingyue.language import tr

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``mingyue`` with ``arguments`` (default: those of the process); the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _make_printable()
        return _run(words)
    except UserError as error:
        _complain(str(error))
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader (head, less) has gone; nobody is left to tell
        _silence(sys.stdout)
        return 0
    except OSError as error:
        broken = next((s for s in (sys.stdout, sys.stderr) if _is_broken(s, error)), None)
        if broken is None:
            raise
        _silence(broken)
        _complain(tr("the output cannot be written: {why}", why=error.strerror or error))
        return 2
    finally:
        language.use(None)


def _run(words: list[str]) -> int:
    """Choose the language before the commands are made, because their help is made with them."""
    rest, wanted = take_language(words)
    language.use(wanted or _of_windows())
    from mingyue.cli.app import run

    code = run(rest)
    sys.stdout.flush()
    return code


def take_language(words: Sequence[str]) -> tuple[list[str], language.Language | None]:
    """``words`` without ``--lang en|zh``, wherever it stood (but not after ``--``), and its value.

    Raises:
        UserError: a language that is not there.
    """
    rest: list[str] = []
    wanted: language.Language | None = None
    left = iter(words)
    for word in left:
        if word == "--":
            return [*rest, word, *left], wanted
        if word != "--lang" and not word.startswith("--lang="):
            rest.append(word)
            continue
        value = word.partition("=")[2] if "=" in word else next(left, "")
        match value.lower():
            case "en":
                wanted = "en"
            case "zh" | "zh-cn" | "zh_cn":
                wanted = "zh"
            case _:
                raise UserError(
                    tr("--lang: {value} is not there; give en or zh", value=repr(value))
                )
    return rest, wanted


def _of_windows() -> language.Language | None:
    """The language of a Windows that says nothing in the environment; None elsewhere."""
    if os.name != "nt" or any(os.environ.get(n) for n in ("LC_ALL", "LC_MESSAGES", "LANG")):
        return None
    import locale

    name = (locale.getlocale()[0] or "").lower()
    return "zh" if name.startswith(("zh", "chinese")) else "en"


def _make_printable() -> None:
    """Never fail at printing a character.

    Windows gives a pipe its old code page, in which no poem can be written: UTF-8 there. Other
    systems keep the encoding of the locale; what it lacks is shown by number.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8" if os.name == "nt" else None, errors="backslashreplace")


def _complain(message: str) -> None:
    from mingyue.cli.screen import visible

    line = " ".join(visible(message).split())
    try:
        print(tr("mingyue: {message}", message=line), file=sys.stderr)
    except OSError:  # neither can that be written; the exit code has to say it
        _silence(sys.stderr)


def _is_broken(stream: TextIO, error: OSError) -> bool:
    """Whether ``error`` came from writing into ``stream``, whose disk is full or gone.

    What could not be written is still in the buffer, so it fails once more; where there is no
    buffer (``python -u``), a line end is tried. An error of a file by name is none of a stream.
    """
    if error.filename is not None:
        return False
    try:
        if isinstance(stream, TextIOWrapper) and stream.write_through:
            stream.write("\n")
        stream.flush()
    except OSError:
        return True
    return False


def _silence(stream: TextIO) -> None:
    """Give Python somewhere to flush to at its end, or it would complain once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
