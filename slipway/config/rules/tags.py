"""Rules about tags: what AWS and ParallelCluster accept."""

import re
from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.problems import Finding, listed, shown
from slipway.config.rules.registry import environment_rule

# `aws:` is AWS's own, `parallelcluster:` the nodes', `slipway:` the environment's.
_RESERVED_PREFIXES = ("aws:", "parallelcluster:", "slipway:")
# The characters that every AWS service accepts, and the lengths (AWS General Reference, tag naming limits).
_TEXT = re.compile(r"[\w .:/=+@-]*", re.ASCII)
_WORDS = "letters, digits, spaces and _ . : / = + - @"
_LONGEST_KEY = 128
_LONGEST_VALUE = 256


@environment_rule
def tag_key_not_reserved(environment: Environment) -> Iterator[Finding]:
    """A tag's key does not begin with `aws:`, `parallelcluster:` or `slipway:`."""
    for key in environment.tags:
        if key.lower().startswith(_RESERVED_PREFIXES):
            message = f"keys that begin with {listed(_RESERVED_PREFIXES)} are reserved"
            yield Finding(("tags", key), message, "Write another key.", at_key=True)


@environment_rule
def tag_key_allowed(environment: Environment) -> Iterator[Finding]:
    """A tag's key has 1 to 128 letters, digits, spaces and _ . : / = + - @, and no space at its ends."""
    for key in environment.tags:
        if not 1 <= len(key) <= _LONGEST_KEY:
            message = f"a tag's key has 1 to {_LONGEST_KEY} characters (got {len(key)})"
            yield Finding(("tags", key), message, "Write another key.", at_key=True)
        elif not _TEXT.fullmatch(key) or key != key.strip():
            message = "a tag's key has characters that AWS does not accept"
            yield Finding(("tags", key), message, f"Write {_WORDS} only.", at_key=True)


@environment_rule
def tag_keys_distinct(environment: Environment) -> Iterator[Finding]:
    """No two tags have keys that differ only in capitals: IAM refuses a role with both."""
    # IAM user guide, rules for tagging in IAM and AWS STS: "tag key names are not case sensitive".
    seen: dict[str, str] = {}
    for key in environment.tags:
        before = seen.setdefault(key.lower(), key)
        if before != key:
            message = f"differs from the tag {shown(before)} only in capitals, and IAM takes them for the same key"
            yield Finding(("tags", key), message, "Keep one of the two.", at_key=True)


@environment_rule
def tag_value_allowed(environment: Environment) -> Iterator[Finding]:
    """A tag's value has up to 256 letters, digits, spaces and _ . : / = + - @."""
    for key, value in environment.tags.items():
        if len(value) > _LONGEST_VALUE:
            message = f"a tag's value has {_LONGEST_VALUE} characters at most (got {len(value)})"
            yield Finding(("tags", key), message, "Write a shorter value.")
        elif not _TEXT.fullmatch(value):
            message = "a tag's value has characters that AWS does not accept"
            yield Finding(("tags", key), message, f"Write {_WORDS} only.")
