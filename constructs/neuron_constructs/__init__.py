"""Reusable constructs for Trainium training and Inferentia serving. They know typed props and facts, never an environment file."""
