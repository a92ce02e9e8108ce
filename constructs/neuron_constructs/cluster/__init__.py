"""The Slurm cluster: AWS ParallelCluster through its CloudFormation custom resource."""
