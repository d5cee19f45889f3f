"""How much a piece of decoded text looks like text.

The same bytes decode without error in several encodings: ``c0 b4 b3 f3`` is 来丑 in GB18030 and
懂傭 in Big5. Which one was meant is a question of likelihood, as in a language model of the
simplest kind: each class of characters has a probability, a text's score is the sum of their
logarithms, and the reading with the highest score wins. Wrong readings give themselves away
quickly, because they draw characters from all over the code table, where real Chinese takes
more than half of its characters from the few hundred most frequent ones.
"""

import math
from collections import Counter
from functools import cache
from unicodedata import category

# The most frequent characters of modern and of classical Chinese, in their simplified forms, and
# the traditional forms that differ. They make 65% of the characters of Tang and Song poetry.
FREQUENT = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年"
    "过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心"
    "她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间"
    "由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给"
    "世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变"
    "四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社"
    "便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北"
    "边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运笑吗呢吧啊哪谁怎您爱喜欢风花云"
    "春归君秋玉江夜未雨香千寒青飞酒烟落红尽深流客远诗愁朝草似闲满歌城欲阳楼雪梦黄醉旧卷树游莫仙"
    "尘独古衣华石犹林初闻柳龙轻断芳绿翠须枝叶离台影晚碧阴百露留竹暮宫言随双故复半岁波语松孤吹九"
    "霜亦溪残恨曲吟幽微晓曾鸟照池临逢惊庭坐若寻梅乐依河汉舞星休野画连近垂终泪窗浮首燕堪堂舟景早"
    "乡泉余倚凤桃凉紫转静暗帘六斜丹苦忆鹤州待湖遥珠罗楚怀散送沙干沈晴灯岂容峰横节寄乱久绝虚怜元"
    "夕胜鱼木亭登园川居苍著悲鸣冷兰细灵八寂兴萧霞官锦吾杯车忽丝功火郎眉朱尚曰乃矣焉乎哉耳汝卿夫"
    "盖遂皆孰"
)
FREQUENT_TRADITIONAL = (
    "這個們來爲國說時會對於過發後裏種經麼學現當沒動還進樣開從實軍無與長機關點業將兩間問並應戰頭"
    "體見產話內給門兒東聲員論處義幾認條氣題爾別變總電數報結務場計資許統區隊決馬書則聽卻達強難權"
    "設記類據邊張該規萬覺術領確傳師觀讓識帶導爭運嗎誰愛歡風雲歸飛煙紅盡遠詩閒滿陽樓夢黃舊樹遊塵"
    "獨華猶聞龍輕斷綠須葉離臺陰宮隨雙復歲語殘曉鳥臨驚尋樂漢畫連終淚鄉餘鳳涼轉靜簾憶鶴遙羅懷幹燈"
    "豈峯橫節亂絕虛憐勝魚園蒼鳴蘭細靈興蕭錦車絲蓋為祇群綫"
)

# Probability of one character of a class; for a class of n characters with share s, s / n.
_FREQUENT, _COMMON, _RARE, _VERY_RARE = 0.60 / 800, 0.25 / 6000, 0.02 / 14000, 0.002 / 70000
_MARK, _ASCII, _KANA_OR_HANGUL, _OTHER_LETTER = 0.10 / 40, 0.9 / 97, 0.01 / 11000, 0.01 / 2000
_SIGN, _NEVER = 0.001 / 5000, 1e-11

_MARKS = frozenset("，。、！？：；「」『』（）《》〈〉“”‘’…—·　～〔〕【】﹏")
_ASCII_CONTROL = frozenset("\t\n\r\f")


def log_likelihood(text: str) -> float:
    """The logarithm of the probability of ``text``, in nats, under the classes of this file."""
    return sum(_log_probability(character) * n for character, n in Counter(text).items())


def plausibility(text: str) -> float:
    """Mean log probability of the characters beyond ASCII, in nats; 0 if there are none.

    Real Chinese, modern or classical, lies above -9; bytes read in the wrong encoding below.
    """
    counts = Counter(character for character in text if character > "\x7f")
    total = sum(counts.values())
    if not total:
        return 0.0
    return sum(_log_probability(character) * n for character, n in counts.items()) / total


@cache
def _log_probability(character: str) -> float:
    return math.log(_probability(character))


def _probability(character: str) -> float:
    if character <= "\x7f":
        return _ASCII if character.isprintable() or character in _ASCII_CONTROL else _NEVER
    if character in _MARKS or "\uff01" <= character <= "\uff5e":
        return _MARK
    if "\u4e00" <= character <= "\u9fff":
        if character in _frequent():
            return _FREQUENT
        return _COMMON if character in _common() else _RARE
    if "\u3041" <= character <= "\u30ff" or "\uac00" <= character <= "\ud7a3":
        return _KANA_OR_HANGUL
    kind = category(character)
    if kind in {"Cc", "Co", "Cn", "Cs"} or character == "\N{REPLACEMENT CHARACTER}":
        return _NEVER  # controls, private use, unassigned, half a surrogate pair
    if kind == "Lo":
        return _VERY_RARE
    return _OTHER_LETTER if kind.startswith("L") else _SIGN


@cache
def _frequent() -> frozenset[str]:
    return frozenset(FREQUENT + FREQUENT_TRADITIONAL)


@cache
def _common() -> frozenset[str]:
    """Level 1 of GB 2312 (3,755 characters) and of Big5 (5,401): those in common use.

    Both standards begin with them, so the codecs of the standard library are the table.
    """
    simplified = bytes(
        b for lead in range(0xB0, 0xD8) for t in range(0xA1, 0xFF) for b in (lead, t)
    )
    trails = [*range(0x40, 0x7F), *range(0xA1, 0xFF)]
    traditional = bytes(b for lead in range(0xA4, 0xC7) for t in trails for b in (lead, t))
    return frozenset(simplified.decode("gb2312", "ignore") + traditional.decode("big5", "ignore"))
