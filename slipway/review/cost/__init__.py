"""What an environment costs by list prices."""
