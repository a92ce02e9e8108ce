"""What a cloud assembly means before it is deployed."""
