"""Reusable constructs for Trainium training and Inferentia serving.

They know typed props and the facts, never an environment file: another CDK app can use them.
"""
