"""CloudFormation templates: parsing, references, parameters and intrinsic functions."""
