"""Runs the Lambda code of a stack as processes of this machine."""
