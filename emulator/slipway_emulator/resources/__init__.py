"""Resource types: how each is created, updated and deleted in the emulator."""
