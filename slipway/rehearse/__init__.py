"""The rehearsal: the real CDK CLI deploys a synthesized assembly to an emulated AWS on loopback and destroys it."""
