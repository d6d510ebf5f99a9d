"""The command line: `runahead`, one file per subcommand."""
