"""Amazon EKS for training: cluster, node groups, what is installed in the cluster, the training image."""
