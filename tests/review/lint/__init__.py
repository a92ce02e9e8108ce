"""Tests of the rule pack over cluster configurations."""
