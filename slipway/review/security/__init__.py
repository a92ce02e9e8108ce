"""What the scanners say of an assembly, and of the difference of two."""
