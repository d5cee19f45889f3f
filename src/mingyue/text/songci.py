"""全宋词: the song lyrics (词) of the Song dynasty, Mingyue's second collection.

A lyric was written to a tune, whose name stands here as its title; the tune fixes the length of
each line, so lines are uneven, from two characters to nine. The source has them in simplified
characters. A separate file of three lyrics in mixed script (``ci.song.2019y.json``) is left out.
"""

import re
from typing import Any

from mingyue.text.cleaning import RawPoem
from mingyue.text.collection import Collection


def _poem(entry: dict[str, Any]) -> RawPoem:
    return RawPoem(
        paragraphs=tuple(entry["paragraphs"]), title=entry["rhythmic"], author=entry["author"]
    )


SONGCI = Collection(
    name="songci",
    members=re.compile(r"songci/ci\.song\.(\d+)\.json"),
    poem=_poem,
    script="simplified",
    shortest=14,  # the shortest tunes, 竹枝 and 十六字令, have 14 and 16 characters
    longest_line=11,
)
