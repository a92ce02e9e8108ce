"""Runs on Kubernetes: a JobSet for each run, made and watched from the cluster's shell."""
