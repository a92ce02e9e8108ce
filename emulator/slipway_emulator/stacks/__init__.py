"""Stacks and the operations on them: create, update, roll back, delete, change sets."""
