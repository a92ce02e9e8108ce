"""`slipway deploy`: the CDK CLI's deployment, watched. See docs/first-deploy.md."""
