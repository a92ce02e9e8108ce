"""The checks of the preflight, a module for each thing that is asked."""
