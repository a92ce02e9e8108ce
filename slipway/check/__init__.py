"""What an account says before an environment is deployed into it."""
