"""Brings what others made: models, which become versions that the endpoint serves, and data sets to train on."""
