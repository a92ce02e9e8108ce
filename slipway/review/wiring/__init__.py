"""How the parts of a cloud assembly fit together: rules over all of its templates at once.

A linter reads one resource, CloudFormation one stack. What is wrong between two parts, such as an alarm on a metric
that nothing sends, deploys well and is found when it is needed. docs/wiring-rules.md lists the rules.
"""
