"""The plan as text, Markdown, JSON and a page."""
