"""Whether the next deployment can update the deployed cluster, asked before CloudFormation is."""
