"""A model that others trained becomes a version that the endpoint serves: fetched, checked, exported, published."""
