"""Stops training and inference of an environment, remembers how they ran, and starts them again the same way.

The budget's function runs it with the AWS SDK of its Lambda runtime, `slipway pause` and `slipway resume` run it with
the credentials of who calls them. It imports nothing of Slipway.
"""
