"""`slipway destroy`: deletes an environment in an order that slow Trainium nodes allow. See docs/teardown.md."""
