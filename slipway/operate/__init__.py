"""What changes or watches a deployed environment."""
