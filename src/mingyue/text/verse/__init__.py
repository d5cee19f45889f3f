"""Chinese verse: its layout, its forms, its tones and rhymes, and how well a text keeps them."""

from mingyue.text.verse.forms import REGULATED, Form
from mingyue.text.verse.judge import Judgement, judge
from mingyue.text.verse.layout import form_of, is_even, lay_out, line_lengths, lines_of
from mingyue.text.verse.patterns import Pattern
from mingyue.text.verse.rhyme import classes
from mingyue.text.verse.tones import tones

__all__ = [
    "REGULATED",
    "Form",
    "Judgement",
    "Pattern",
    "classes",
    "form_of",
    "is_even",
    "judge",
    "lay_out",
    "line_lengths",
    "lines_of",
    "tones",
]
