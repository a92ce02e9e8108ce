"""The rule pack over AWS ParallelCluster configurations: what ParallelCluster's own validators let through."""
