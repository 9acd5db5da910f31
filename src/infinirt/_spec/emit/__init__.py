"""One module per generated file; each has a function that returns the file's text."""
