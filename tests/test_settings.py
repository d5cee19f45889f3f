"""A refused setting says why in the reader's language, and not in pydantic's English."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from mingyue import language
from mingyue.errors import UserError
from mingyue.settings import Settings


class Kinds(Settings):
    above: Annotated[float, Field(gt=0)] = 1
    least: Annotated[int, Field(ge=2)] = 2
    below: Annotated[float, Field(lt=1)] = 0
    most: Annotated[int, Field(le=100)] = 1
    flag: bool = False
    word: Annotated[str, Field(min_length=2)] = "ab"
    kind: Literal["rope", "learned", "none"] = "rope"


class Needed(Settings):
    name: str


CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"above": 0}, "it must be above 0", "须大于 0"),
    ({"least": 1}, "it must be at least 2", "至少为 2"),
    ({"below": 1}, "it must be below 1", "须小于 1"),
    ({"most": 101}, "it must be at most 100", "至多为 100"),
    ({"most": "ten"}, "it must be a whole number", "须为整数"),
    ({"most": 1.5}, "it must be a whole number", "须为整数"),
    ({"most": None}, "it must be a whole number", "须为整数"),
    ({"above": "much"}, "it must be a finite number", "须为有限的数"),
    ({"above": float("nan")}, "it must be a finite number", "须为有限的数"),
    ({"flag": "perhaps"}, "it must be true or false", "须为 true 或 false"),
    ({"flag": None}, "it must be true or false", "须为 true 或 false"),
    ({"word": "a"}, "it must have at least 2 characters", "至少要有 2 个字符"),
    ({"word": 3}, "it must be text", "须为文本"),
    ({"kind": "compass"}, "one of 'rope', 'learned', 'none'", "之一：'rope', 'learned', 'none'"),
]


@pytest.mark.parametrize(("values", "english", "chinese"), CASES, ids=str)
def test_the_reason_is_translated(values: dict[str, Any], english: str, chinese: str):
    for chosen, expected in (("en", english), ("zh", chinese)):
        language.use(chosen)  # type: ignore[arg-type]
        try:
            with pytest.raises(UserError) as refused:
                Kinds.checked(**values)
        finally:
            language.use(None)
        assert expected in str(refused.value) and "nput should" not in str(refused.value)
        assert next(iter(values)) in str(refused.value)


def test_what_is_missing_is_named():
    with pytest.raises(UserError, match=r"name: .* it must be given"):
        Needed.checked()
