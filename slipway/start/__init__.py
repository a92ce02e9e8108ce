"""How a repository of your own begins: `slipway init` writes it, `slipway setup` installs the tools of others in it."""
