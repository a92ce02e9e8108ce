"""What removing an environment and finding what it left have in common: its scope, its stacks and what goes wrong."""
