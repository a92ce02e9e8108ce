"""What Slipway adds to the validation of a synthesis, beside cdk-nag."""
