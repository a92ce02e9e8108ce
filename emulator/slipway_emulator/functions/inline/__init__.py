"""What Lambda puts beside inline code."""
