"""Tests of the facts: rows against each other, against EC2's own answers and against aws-parallelcluster."""
