"""Code and text that follow from the schema."""
