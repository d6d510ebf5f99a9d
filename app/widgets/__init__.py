"""Small parts that several pages share."""
