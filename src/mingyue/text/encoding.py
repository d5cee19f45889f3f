"""Which encoding a file is in.

Chinese text comes in UTF-8, in UTF-16, in GB18030 (the mainland's, with its older parts GBK and
GB 2312) and in Big5 (Taiwan's and Hong Kong's), and seldom says which. Guessing wrong gives
*mojibake*: text that decodes without error into nonsense, on which a model trains happily. So
the rule here is: decode strictly, weigh the readings that are possible by how much they look
like text (``plausible``), and refuse with a clear message whenever no reading, or more than one,
is convincing. A file is never opened in the locale's encoding.

A large file is judged by a sample; ``stream`` then decodes all of it strictly.
"""

import codecs
import math
from dataclasses import dataclass
from pathlib import Path

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.plausible import log_likelihood, plausibility
from mingyue.text.refusals import SAMPLE, BinaryFile, undecodable, unreadable, zero_byte

# A reading in one of the old encodings must be this plausible (nats per character beyond ASCII);
# a short text is allowed to stray by _SPREAD over the root of its length. Tang poems lie at
# -7.8 and 999 of 1,000 above -9.0; Korean read as GB18030 at -9.6, all else below -10.
_PLAUSIBLE, _SPREAD = -9.2, 1.5
# Bytes that happen to be valid UTF-8 need a far better reading to be taken for something else.
_CONVINCING = -8.3
# Zero bytes beside so many ASCII characters, all on one side of them, are no chance: UTF-16. With
# fewer, what is beyond ASCII must look right too, or four bytes such as 00 01 09 00 were a text.
_ENOUGH_ASCII = 8
# By how many nats the best reading must beat the next: odds of fifty to one.
_MARGIN = 4.0
# A text with fewer broken characters than this share is a damaged one, not one in another encoding.
_DAMAGE = 0.02

# "PK" archives include .docx, .xlsx and .epub; d0cf11e0 is the old .doc and .xls.
_MAGIC = {
    b"%PDF-": "PDF",
    b"PK\x03\x04": "ZIP, DOCX, EPUB",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "DOC, XLS",
    b"\x89PNG\r\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF8": "GIF",
    b"\x1f\x8b\x08": "GZIP",
    b"\xfd7zXZ\x00": "XZ",
    b"BZh": "BZIP2",
    b"7z\xbc\xaf\x27\x1c": "7Z",
    b"Rar!\x1a\x07": "RAR",
    b"\x28\xb5\x2f\xfd": "ZSTD",
    b"\x7fELF": "ELF",
    b"PAR1": "PARQUET",
    b"SQLite format 3\x00": "SQLITE",
    b"{\\rtf": "RTF",
}

# Control bytes that plain text does not hold (it does hold tab, line ends, form feed, escape).
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1a\x1b")

_BOMS = (  # the longer first: the mark of UTF-32-LE begins with that of UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The name a report shows, and the codec of the standard library that reads it."""

    name: str
    codec: str


# cp950 is Big5 as Windows writes it, with seven characters more (裏 碁 銹 …); HKSCS is Hong Kong's.
_OLD = (
    Encoding("gb18030", "gb18030"),
    Encoding("big5", "cp950"),
    Encoding("big5-hkscs", "big5hkscs"),
)
_UTF_8 = Encoding("utf-8", "utf-8")
_UTF_16 = (Encoding("utf-16-le", "utf-16-le"), Encoding("utf-16-be", "utf-16-be"))

# Whoever names a part of a larger encoding gets the whole.
_WHOLE = {
    "utf-8": "utf-8-sig",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
}


def named_encoding(name: str) -> Encoding:
    """The encoding that somebody asked for by name.

    Raises:
        UserError: there is none of this name.
    """
    try:
        "".encode(name)  # LookupError also for codecs that are not of text, such as "hex"
        codec = codecs.lookup(name).name
    except (LookupError, ValueError, UnicodeError):
        raise UserError(
            tr(
                "--encoding {name}: no such encoding; use for example utf-8, gb18030, big5, utf-16",
                name=name,
            )
        ) from None
    return Encoding(codec, _WHOLE.get(codec, codec))


def detect(path: Path) -> Encoding:
    """The encoding of a file, from its bytes.

    Raises:
        BinaryFile: it is not text.
        UserError: it cannot be read, or is text only at first, or no encoding, or more than one,
            is convincing.
    """
    start, sample, complete = _sample(path)
    if start == 0:
        for mark, name in _BOMS:
            if sample.startswith(mark):
                return Encoding(name, name)
        for magic, kind in _MAGIC.items():
            if sample.startswith(magic):
                raise BinaryFile(
                    tr(
                        "{path}: not a text file but {kind}; convert it to text",
                        path=path,
                        kind=kind,
                    )
                )
    if start and 0 in sample:
        raise zero_byte(path, start + sample.index(0))
    if not _CONTROLS.isdisjoint(sample):
        return _with_controls(path, sample, complete)
    if sample.isascii():
        return _UTF_8
    return _weigh(path, start, sample, complete)


# ---- the judgement -----------------------------------------------------------------------


def _sample(path: Path) -> tuple[int, bytes, bool]:
    """Where the sample starts, the sample, and whether it goes to the end of the file.

    A long beginning of pure ASCII says nothing; then the sample starts at the first byte beyond.
    """
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            start = 0
            sample = file.read(SAMPLE)
            while sample.isascii() and 0 not in sample and start + len(sample) < size:
                start += len(sample)
                sample = file.read(SAMPLE)
            if start and not sample.isascii():
                start += next(i for i, byte in enumerate(sample) if byte > 0x7F)
                file.seek(start)
                sample = file.read(SAMPLE)
            return start, sample, start + len(sample) >= size
    except OSError as error:
        raise unreadable(path, error) from error


def _with_controls(path: Path, sample: bytes, complete: bool) -> Encoding:
    """A file with control bytes, which text has none of: UTF-16 without a mark has them as the
    halves of characters, above all zeros beside ASCII."""
    zeros = 0 in sample
    readings = {
        encoding: text
        for encoding, text in _readings(_UTF_16, sample, complete).items()
        if _CONTROLS.isdisjoint(map(ord, text))
        and ((zeros and _looks_wide(text)) or _mostly_frequent(text))
    }
    if readings:
        return max(readings, key=lambda encoding: log_likelihood(readings[encoding]))
    if zeros:
        raise BinaryFile(tr("{path}: not a text file (it holds zero bytes)", path=path))
    return _UTF_8 if sample.isascii() else _weigh(path, 0, sample, complete)


def _weigh(path: Path, start: int, sample: bytes, complete: bool) -> Encoding:
    """Choose among the readings without error; refuse when none or more than one convinces."""
    # UTF-16 counts in pairs of bytes from the start of the file, so only a first sample can tell.
    wide = _UTF_16 if start == 0 else ()
    readings = {
        encoding: text
        for encoding, text in _readings((*_OLD, *wide), sample, complete).items()
        if _looks_right(text)
    }
    utf_8 = _readings((_UTF_8,), sample, complete).get(_UTF_8)
    if utf_8 is not None:
        # Bytes of another encoding are hardly ever valid UTF-8, except a few characters that
        # pair up into letters of two bytes: 小学 in GB18030 reads as Сѧ.
        readings = {e: text for e, text in readings.items() if _mostly_beyond_ascii(text)}
        if not readings or any(character >= "\u0800" for character in utf_8):
            return _UTF_8
        if not any(map(_mostly_frequent, readings.values())):
            readings[_UTF_8] = utf_8  # neither the one nor the other convinces
    if not readings:
        raise _no_reading(path, start, sample, complete)

    ranked = sorted(readings, key=lambda e: log_likelihood(readings[e]), reverse=True)
    best = ranked[0]
    for other in ranked[1:]:
        if readings[other] == readings[best]:
            continue
        lead = log_likelihood(readings[best]) - log_likelihood(readings[other])
        if lead < _MARGIN or _UTF_8 in (best, other):
            raise UserError(
                tr(
                    "{path}: may be {first} (“{one}”) or {second} (“{two}”); say which "
                    "with --encoding",
                    path=path,
                    first=best.name,
                    one=_shown(readings[best]),
                    second=other.name,
                    two=_shown(readings[other]),
                )
            )
        break
    return best


def _readings(
    encodings: tuple[Encoding, ...], sample: bytes, complete: bool
) -> dict[Encoding, str]:
    """What the sample says in each encoding in which it has no error."""
    readings = {}
    for encoding in encodings:
        decoder = codecs.getincrementaldecoder(encoding.codec)("strict")
        try:  # without ``final``, a character cut at the end of the sample is no error
            readings[encoding] = decoder.decode(sample, final=complete)
        except UnicodeDecodeError:
            continue
    return readings


def _looks_right(text: str) -> bool:
    length = sum(character > "\x7f" for character in text)
    return not length or plausibility(text) > _PLAUSIBLE - _SPREAD / math.sqrt(length)


def _looks_wide(text: str) -> bool:
    """Whether bytes with zeros among them, read as UTF-16, are text rather than binary data."""
    if log_likelihood(text) <= _PLAUSIBLE * len(text):
        return False
    return sum(character <= "\x7f" for character in text) >= _ENOUGH_ASCII or _looks_right(text)


def _mostly_beyond_ascii(text: str) -> bool:
    return 2 * sum(character > "\x7f" for character in text) > len("".join(text.split()))


def _mostly_frequent(text: str) -> bool:
    return _mostly_beyond_ascii(text) and plausibility(text) > _CONVINCING


def _no_reading(path: Path, start: int, sample: bytes, complete: bool) -> UserError:
    """Say why: a damaged file in a known encoding, or one in an encoding that we do not know."""
    for encoding in (_UTF_8, *_OLD[:2]):
        try:
            sample.decode(encoding.codec)
            continue
        except UnicodeDecodeError as error:
            at = error.start
        text = sample.decode(encoding.codec, "replace")
        broken = text.count("\N{REPLACEMENT CHARACTER}")
        sound = text.replace("\N{REPLACEMENT CHARACTER}", "")
        beyond = sum(character > "\x7f" for character in sound)
        if broken <= max(1, _DAMAGE * beyond) < beyond and (
            encoding is _UTF_8 or _looks_right(sound)
        ):
            return undecodable(path, encoding.name, start + at, sample[at])
    guess = _guess(sample)
    if guess:
        return UserError(
            tr(
                "{path}: neither UTF-8, UTF-16, GB18030 nor Big5; if it is {guess}, "
                "say so with --encoding {guess}",
                path=path,
                guess=guess,
            )
        )
    return UserError(
        tr(
            "{path}: neither UTF-8, UTF-16, GB18030 nor Big5; name its encoding with --encoding",
            path=path,
        )
    )


def _guess(sample: bytes) -> str | None:
    """What charset-normalizer, which knows many more languages, takes it for."""
    from charset_normalizer import from_bytes

    best = from_bytes(sample[: 1 << 16]).best()
    return best.encoding if best else None


def _shown(text: str) -> str:
    return "".join(text.split())[:12]
