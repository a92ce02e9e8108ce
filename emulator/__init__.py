"""An AWS region on loopback: moto's services behind a CloudFormation engine that really provisions.

Run as ``python -m emulator --directory DIR --region REGION``. moto answers every service API;
CloudFormation itself is this package's own engine, which turns each template resource into calls of those APIs,
runs the Lambda code of custom resources as local processes, and writes what it did, and what it could not do,
to a ledger.

Rooms, from the bottom up:

* ``template``: a template's text, its references and its intrinsic functions;
* ``functions``: runs Lambda code on this machine;
* ``resources``: resource types, most of them rows of data, to API calls;
* ``stacks``: stack operations with their events, rollback and change sets;
* ``cloudformation_api``: the CloudFormation query API on moto's server;
* ``moto_patches`` and ``fixtures``: where moto departs from AWS, and what a real region already holds.
"""
