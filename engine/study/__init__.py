"""The study of the paper's figures: what is run, what came out, pictures, tables and a report."""
