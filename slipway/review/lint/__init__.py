"""The rule pack over AWS ParallelCluster configurations: what ParallelCluster lets through, or finds only inside AWS.

`clusters.py` finds configurations in a file, `templates.py` in CloudFormation templates; `rules/` holds the rules and
docs/cluster-rules.md lists them. A configuration is read as the provider reads it: every scalar may be text.
"""
