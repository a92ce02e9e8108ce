"""Python imports this module at start: it guards Lambda processes and whatever Python they start themselves."""

import loopback_only

loopback_only.install()
