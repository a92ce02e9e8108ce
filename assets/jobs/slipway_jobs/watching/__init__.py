"""What a person or a script asks about a run: how far it is, what it costs, its logs, its TensorBoard."""
