"""Settings: options as data, the file that keeps them, and the page that changes them."""
