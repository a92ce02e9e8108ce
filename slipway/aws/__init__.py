"""AWS as every command reaches it: the account, what its refusals mean, and the stacks that are deployed."""
