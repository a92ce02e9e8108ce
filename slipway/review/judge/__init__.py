"""The judge: the real aws-parallelcluster looks at the cluster configuration that would be deployed."""
