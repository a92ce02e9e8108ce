"""What all sections of a recipe and of the kit's own files have in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Immutable, and strict: an unknown key or a number in quotes is a mistake, not a value."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
