"""The CloudFormation query API, served by moto's web server in place of moto's own CloudFormation."""

from slipway_emulator.cloudformation_api.api import CloudFormationApi, serve

__all__ = ["CloudFormationApi", "serve"]
