"""The Trainium code on the CPU: PyTorch/XLA is the real one, and its device is the processor."""
