"""What runs inside the Lambda processes: they find this folder on their path, nothing imports it as a package."""
