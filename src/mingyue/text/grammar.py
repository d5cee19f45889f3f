"""A small grammar that makes up texts: rules, and a way to remember what was said.

A grammar is a plain text. A rule has a name and options, one of which is taken at random each
time; ``/`` stands between options, and an indented line has more of them. ``∅`` is an option that
says nothing. In braces stands what is to be put there::

    document:
        {A=animal}{A}喜欢吃{A.food}，它很{A.is}。

    animal:
        猫 / 花猫 ; food = 鱼 / 牛奶 ; is = 聪明 / 干净
        狗 ; food = 骨头 / {meat} ; is = 忠诚

    meat: 肉 / 鸡肉

``{meat}`` takes an option of that rule. ``{A=animal}`` takes one, says nothing yet and remembers
it under a capital letter; ``{A}`` says it, as often as wanted, and ``{A.food}`` takes one of the
options that it has after ``;``. So a text can speak of the same cat in all its sentences. What is
remembered under two letters differs. It is remembered to the end of the option, and known in the
rules that are called from there.

No rule may lead back to itself, so every text comes to an end.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

START = "document"
NOTHING = "∅"
TRIES = 50
"""How often an option is drawn again that another letter already holds."""

_RULE = re.compile(r"(\w+):(.*)")
_BRACES = re.compile(r"\{(?:([A-Z])=)?(\w+)(?:\.(\w+))?\}")


class Use(NamedTuple):
    """What stands in braces: ``{remember=name.of}``, the first and the last where given."""

    remember: str
    name: str  # a rule, or a letter
    of: str


@dataclass(frozen=True, slots=True)
class Option:
    """Literal text and braces in turn, and what is known of a thing."""

    parts: tuple[str | Use, ...]
    properties: "Mapping[str, Rule]"


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """The options, all equally likely."""

    name: str
    options: list[Option] = field(default_factory=list)


class Remembered(NamedTuple):
    """What a letter stands for."""

    text: str
    properties: Mapping[str, Rule]


class Grammar:
    """Rules by name, checked: whatever is used is there, and every text comes to an end.

    Raises:
        ValueError: the text is no such grammar; says which line or rule.
    """

    def __init__(self, text: str) -> None:
        self.rules = _parse(text)
        if START not in self.rules:
            raise ValueError(f"there is no rule {START}")
        reached: set[str] = set()
        self._check(self.rules[START], {}, (), reached, set())
        if idle := [name for name in self.rules if name not in reached]:
            raise ValueError(f"never used: {', '.join(idle)}")

    def say(self, random: Random) -> str:
        """A new text."""
        return tidied(self._say(self.rules[START], {}, random).text)

    def _say(self, rule: Rule, known: Mapping[str, Remembered], random: Random) -> Remembered:
        # random() gives the same numbers in every version of Python; choice() need not.
        option = rule.options[int(random.random() * len(rule.options))]
        known, said = dict(known), []
        for part in option.parts:
            if isinstance(part, str):
                said.append(part)
            elif part.remember:
                known[part.remember] = self._another(self._meant(part, known), known, random)
            elif part.name in known and not part.of:
                said.append(known[part.name].text)
            else:
                said.append(self._say(self._meant(part, known), known, random).text)
        return Remembered("".join(said), option.properties)

    def _another(self, rule: Rule, known: Mapping[str, Remembered], random: Random) -> Remembered:
        """An option that no other letter holds, if there is one."""
        taken = {remembered.text for remembered in known.values()}
        found = self._say(rule, known, random)
        for _ in range(TRIES):
            if found.text not in taken:
                break
            found = self._say(rule, known, random)
        return found

    def _meant(self, use: Use, known: Mapping[str, Remembered]) -> Rule:
        return known[use.name].properties[use.of] if use.of else self.rules[use.name]

    def _check(
        self,
        rule: Rule,
        known: dict[str, Rule],
        above: tuple[Rule, ...],
        reached: set[str],
        done: set[tuple[object, ...]],
    ) -> None:
        """Follow every option as ``_say`` might: are all words in braces known there?

        ``known`` holds, by letter, the rule that it was taken from; ``above`` the rules that led
        here; ``done`` what was followed before.
        """
        reached.add(rule.name)
        if rule in above:
            raise ValueError(f"{rule.name} leads back to itself")
        key = (rule, *sorted((letter, id(of)) for letter, of in known.items()))
        if key in done:
            return
        done.add(key)
        for option in rule.options:
            here = dict(known)
            for part in option.parts:
                if isinstance(part, str):
                    continue
                for meant in self._possible(rule, part, here):
                    self._check(meant, here, (*above, rule), reached, done)
                    if part.remember:
                        here[part.remember] = meant

    def _possible(self, rule: Rule, use: Use, known: Mapping[str, Rule]) -> list[Rule]:
        """The rules that a word in braces may stand for; none for a letter alone."""
        where = f"{rule.name}: {{{use.name}{'.' * bool(use.of)}{use.of}}}"
        if len(use.name) == 1 and use.name.isupper():
            if use.name not in known:
                raise ValueError(f"{where}: nothing was remembered as {use.name}")
            if not use.of:
                if use.remember:
                    raise ValueError(f"{where} is remembered already")
                return []
            options = known[use.name].options
            if any(use.of not in option.properties for option in options):
                raise ValueError(f"{where}: not every {known[use.name].name} has {use.of}")
            return [option.properties[use.of] for option in options]
        if use.of or use.name not in self.rules:
            raise ValueError(f"{where}: there is no such rule")
        return [self.rules[use.name]]


def tidied(text: str) -> str:
    """Single blanks, none before a sign, a before a vowel as an, sentences with a capital."""
    if " " not in text:
        return text
    text = re.sub(r" +([,.!?])", r"\1", " ".join(text.split()))
    text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)
    return re.sub(r"(?:^|(?<=[.!?] ))[a-z]", lambda found: found[0].upper(), text)


def _parse(text: str) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    rule: Rule | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            if not line[0].isspace():
                head = _RULE.fullmatch(line)
                if head is None or head[1] in rules or (len(head[1]) == 1 and head[1].isupper()):
                    raise ValueError("not the beginning of a new rule")
                rule = rules[head[1]] = Rule(head[1])
                line = head[2]
            if rule is None:
                raise ValueError("no rule has begun")
            if line.strip():
                rule.options.extend(_options(line, rule.name))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}: {line.strip()}") from None
    if empty := [name for name, rule in rules.items() if not rule.options]:
        raise ValueError(f"without options: {', '.join(empty)}")
    return rules


def _options(line: str, rule: str) -> list[Option]:
    """``one / two ; property = x / y``: each option of the line has the properties."""
    said, *rest = line.split(";")
    properties: dict[str, Rule] = {}
    for each in rest:
        name, equals, values = (part.strip() for part in each.partition("="))
        if not equals or not name.isidentifier() or name in properties:
            raise ValueError("a property is name = option / option")
        properties[name] = Rule(
            f"{rule}.{name}", [Option(_parts(v), {}) for v in values.split("/")]
        )
    return [Option(_parts(text), properties) for text in said.split("/")]


def _parts(text: str) -> tuple[str | Use, ...]:
    text = text.strip()
    if not text:
        raise ValueError(f"an option is empty; write {NOTHING}")
    parts: list[str | Use] = []
    end = 0
    for braces in _BRACES.finditer(text):
        parts += [text[end : braces.start()], Use(braces[1] or "", braces[2], braces[3] or "")]
        end = braces.end()
    parts.append(text[end:])
    if any(isinstance(part, str) and re.search("[{}]", part) for part in parts):
        raise ValueError("braces hold a name, {name}, {A}, {A.name} or {A=name}")
    return tuple(part for part in parts if part not in ("", NOTHING))
