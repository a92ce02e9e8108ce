"""`slipway az`: picks Availability Zones by evidence."""
