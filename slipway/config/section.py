"""What the sections of an environment file have in common: strict, closed, immutable, documented."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


class InvalidPart(AttributeError):  # noqa: N818 (an outcome, not an error of the program)
    """A field that was not valid was read from a section of which only the valid fields are there."""


class Section(BaseModel):
    """A mapping in the environment file. Unknown keys are refused, values are not converted between types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    if not TYPE_CHECKING:  # mypy must go on refusing attributes that no field defines

        def __getattr__(self, name: str) -> Any:
            """Refuse a field that this section lacks, because its value in the file was not valid."""
            if name in type(self).model_fields:
                raise InvalidPart(name)
            return super().__getattr__(name)


@dataclass(frozen=True)
class Form:
    """Annotation of a `str` field: how its text must look, for the machine and for people."""

    pattern: str
    """Regular expression for the whole text; the JSON schema has it, a message never."""

    words: str
    """The same in words, continuing "must be"."""

    example: str
    """A text that fits."""

    longest: int | None = None
    """Most characters, where the pattern does not bound them."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the pattern, and give the words as the error."""
        return core_schema.custom_error_schema(
            core_schema.str_schema(pattern=rf"^(?:{self.pattern})$", max_length=self.longest, strict=True),
            custom_error_type="form",
            custom_error_message="must be {words}",
            custom_error_context={"words": self.words, "example": self.example},
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the text to editors."""
        longest = {} if self.longest is None else {"maxLength": self.longest}
        return {"type": "string", "pattern": f"^({self.pattern})$", "examples": [self.example], **longest}


AvailabilityZoneId = Annotated[
    str,
    Form(r"[a-z]{3,4}[0-9]-az[0-9]{1,2}", "an availability zone id, not a zone name such as us-west-2b", "usw2-az4"),
]
"""An availability zone *id* such as `usw2-az4`. Ids name the same place in every account, `us-west-2b` does not."""

Cidr = Annotated[str, Form(r"([0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2}", "an IPv4 range in CIDR notation", "10.40.0.0/16")]
"""An IPv4 range such as `10.40.0.0/16`."""

HOST_NAME_PATTERN = r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+([a-z]{2,63}|xn--[a-z0-9-]{1,58}[a-z0-9])"
"""A DNS name in lower case; its top-level domain may be an internationalized one in punycode, such as `xn--p1ai`."""

Because = Annotated[str, Form(r"[^\x00-\x20\x7f][^\x00-\x1f\x7f]*", "a reason on one line", "only for the demo", 256)]
"""Why a protection is left out, for those who review the environment file."""

ONE_LINE_PATTERN = r"[^\x00-\x1f\x7f]+"
"""Text without line breaks and other control characters."""
