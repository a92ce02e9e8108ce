"""The changed lines of an environment file, and what each of them causes."""
