"""Settings that refuse nonsense in one line.

Both the model's and the training's configuration are pydantic models with this base: frozen,
no unknown keys, and every refusal a ``UserError`` of one line instead of pydantic's report.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from mingyue.errors import UserError
from mingyue.language import tr


class Settings(BaseModel):
    """A frozen set of named values that cannot hold an unknown name or an impossible value."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def checked(cls, **values: Any) -> Self:
        """Build from ``values``.

        Raises:
            UserError: naming the first value that is wrong, and why.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"]) or cls.__name__
            if first["type"] == "extra_forbidden":
                known = ", ".join(cls.model_fields)
                raise UserError(
                    tr("{name}: no such setting; there are {known}", name=name, known=known)
                ) from None
            raise UserError(
                tr(
                    "{name}: {value} does not fit: {why}",
                    name=name,
                    value=repr(first["input"]),
                    why=_reason(first),
                )
            ) from None

    def changed(self, **values: Any) -> Self:
        """The same settings with ``values`` replaced, checked again."""
        return self.checked(**{**self.model_dump(), **values})


def _reason(error: Mapping[str, Any]) -> str:
    """Why a value was refused, in the reader's language where pydantic's reason is a usual one."""
    limits = error.get("ctx") or {}
    match error["type"]:
        case "greater_than":
            return tr("it must be above {limit}", limit=limits["gt"])
        case "greater_than_equal":
            return tr("it must be at least {limit}", limit=limits["ge"])
        case "less_than":
            return tr("it must be below {limit}", limit=limits["lt"])
        case "less_than_equal":
            return tr("it must be at most {limit}", limit=limits["le"])
        case "int_type" | "int_parsing" | "int_parsing_size" | "int_from_float":
            return tr("it must be a whole number")
        case "float_type" | "float_parsing" | "finite_number":
            return tr("it must be a finite number")
        case "bool_type" | "bool_parsing":
            return tr("it must be true or false")
        case "string_type":
            return tr("it must be text")
        case "string_too_short":
            return tr("it must have at least {n} characters", n=limits["min_length"])
        case "literal_error":
            known = str(limits["expected"]).replace(" or ", ", ")
            return tr("it must be one of {known}", known=known)
        case "missing":
            return tr("it must be given")
        case _:
            return str(error["msg"])
