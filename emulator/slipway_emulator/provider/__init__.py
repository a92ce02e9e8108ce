"""The stand-in for the ParallelCluster provider that AWS hosts: its template and the code of its function."""
