"""An AWS Region on loopback: moto's services behind a CloudFormation engine that really provisions.

Run as ``python -m emulator --directory DIR --region REGION``. README.md says what each package does.
"""
