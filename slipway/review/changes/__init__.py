"""What a deployment changes in the stacks."""
