"""Settings that refuse nonsense in one line.

Both the model's and the training's configuration are pydantic models with this base: frozen,
no unknown keys, and every refusal a ``UserError`` of one line instead of pydantic's report.
"""

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
                    why=first["msg"],
                )
            ) from None

    def changed(self, **values: Any) -> Self:
        """The same settings with ``values`` replaced, checked again."""
        return self.checked(**{**self.model_dump(), **values})
