"""Who may do more than before: IAM, security groups, and what only clusters know."""
