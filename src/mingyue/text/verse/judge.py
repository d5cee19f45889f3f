"""A text judged as verse: its form, its rhyme, its metre."""

from dataclasses import dataclass

from mingyue.text.verse import forms
from mingyue.text.verse.endings import Rhyme, rhyme_of
from mingyue.text.verse.forms import Form
from mingyue.text.verse.layout import lines_of
from mingyue.text.verse.metre import Fit, fit_loose, fit_strict
from mingyue.text.verse.rhyme import looks_simplified
from mingyue.text.verse.tones import tones


@dataclass(frozen=True)
class Judgement:
    """What a text is as verse."""

    lines: tuple[str, ...]
    """The 汉字 of each line."""
    form: Form | None
    """The form asked for, else the regulated form that the lines make, if they make one."""
    fits: bool
    """Whether the lines have the lengths of that form."""
    rhyme: Rhyme | None
    """How the even lines rhyme; None if there are fewer than two of them."""
    loose: Fit | None
    """The metre of the even places and the last; None without tone patterns, or if the lines do
    not fit the form."""
    strict: Fit | None
    """The metre of whole lines; None as ``loose``."""
    unknown: tuple[str, ...]
    """Characters whose tone and rhyme are not known; as to tone they are given the benefit."""


def judge(text: str, form: Form | None = None) -> Judgement:
    """Judge ``text``, by ``form`` if one is asked for. Either script; never an error."""
    lines = lines_of(text, form.lengths if form else None)
    lengths = tuple(map(len, lines))
    form = form or forms.find(lengths)
    fits = form is not None and form.lengths == lengths
    simplified = looks_simplified("".join(lines))
    rhyming = form.rhyming if form else range(1, len(lines), 2)
    heard = [[tones(char, simplified=simplified) for char in line] for line in lines]
    rhyme = rhyme_of(lines, rhyming, simplified=simplified)
    patterns = list(form.patterns) if form and fits else []
    # Where two come equally near, for 間 is read in both tones, what is heard at its end decides.
    patterns.sort(key=lambda pattern: pattern.first_rhymes != bool(rhyme and rhyme.first))
    return Judgement(
        lines=tuple(lines),
        form=form,
        fits=fits,
        rhyme=rhyme,
        loose=fit_loose(heard, patterns) if patterns else None,
        strict=fit_strict(heard, patterns) if patterns else None,
        unknown=tuple(
            char
            for line, known in zip(lines, heard, strict=True)
            for char, tone in zip(line, known, strict=True)
            if not tone
        ),
    )
