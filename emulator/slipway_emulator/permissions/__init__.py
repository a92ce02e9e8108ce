"""IAM of the emulator: who makes each call, what the call needs, and whether the policies of that moment allow it."""
