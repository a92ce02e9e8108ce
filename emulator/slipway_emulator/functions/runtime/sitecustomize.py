"""Python imports this module at start: it guards Lambda processes and whatever Python they start themselves."""

import loopback_only  # type: ignore[import-not-found]  # found on the path of the Lambda processes

loopback_only.install()
