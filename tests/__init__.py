"""Slipway's tests."""
