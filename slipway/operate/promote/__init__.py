"""`slipway promote`: copies a published version from one account to another, after two people have looked."""
