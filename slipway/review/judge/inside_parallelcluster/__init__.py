"""What runs in ParallelCluster's own virtual environment: standard library, moto, boto3 and pcluster only."""
