#!/usr/bin/env python3
"""Slipway's CDK entry point."""

import sys

from slipway_stacks.app import main

if __name__ == "__main__":
    sys.exit(main())
