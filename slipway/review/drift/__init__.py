"""What somebody changed in a deployed environment without CloudFormation."""
