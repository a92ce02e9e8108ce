"""The software bill of materials: what Slipway runs, and what an environment runs as far as it is pinned here."""
