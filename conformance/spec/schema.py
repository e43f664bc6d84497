"""JSON schemas of ours, asked fast: what obeys is known at once, and what doesn't is explained by the reader that explains best.

That takes milliseconds for a line of a record, of which a file may have a hundred thousand.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match


class Schema:
    """A schema that says whether something obeys it, and if not, why."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Make both readers ready."""
        self.validator = Draft202012Validator(schema)
        self.fast = jsonschema_rs.Draft202012Validator(dict(schema))

    def obeys(self, said: object) -> bool:
        """Whether the fast reader knows that something obeys; of what is no JSON it knows nothing."""
        try:
            return bool(self.fast.is_valid(said))
        except ValueError:
            return False

    def wrong(self, said: object) -> ValidationError | None:
        """Return what is wrong with something; nothing where it obeys."""
        return None if self.obeys(said) else best_match(self.validator.iter_errors(said))
