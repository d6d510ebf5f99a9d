"""Models: which are known, what they are, whether they fit, and what is done with them."""
