"""Runs: what every engine run did, listed, plotted, compared and exported."""
