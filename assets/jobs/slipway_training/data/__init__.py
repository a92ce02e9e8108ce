"""The samples of each step: tokenized text, its order, and the masking for BERT."""
