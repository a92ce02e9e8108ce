"""A cloud assembly, the folder that `cdk synth` writes: which one, how it is made, and what its templates say."""
