"""Measurements that anyone can repeat. They print figures; no test asserts a time."""
