"""The publish stage: check what was converted, export it for the endpoint where asked, upload it, manifest last."""
