"""A stand-in for the API servers of EKS clusters: real kubectl talks to it, objects are kept and nothing runs."""
