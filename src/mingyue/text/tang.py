"""全唐诗: the poems of the Tang dynasty, Mingyue's default text.

The Qing court had them gathered in 1705, about 49,000 poems; later scholars added some thousand
more from Dunhuang manuscripts and elsewhere (全唐诗补编). The digital text numbers the supplement
from file 50000 on; it carries most of the editors' notes that ``cleaning`` takes out. Since the
supplement comes last, a validation set must be drawn at random, never from the end.

Traditional characters, as printed: rhyme and metre are judged on them.
"""

import re
from typing import Any

from mingyue.text.cleaning import RawPoem
from mingyue.text.collection import Collection


def _poem(entry: dict[str, Any]) -> RawPoem:
    return RawPoem(
        paragraphs=tuple(entry["paragraphs"]), title=entry["title"], author=entry["author"]
    )


TANG = Collection(
    name="tang",
    members=re.compile(r"quantangshi/poet\.tang\.(\d+)\.json"),
    poem=_poem,
    script="traditional",
    shortest=10,  # half a quatrain of five
    longest_line=11,  # songs in the old style run to ten or eleven; beyond is a preface in prose
)
