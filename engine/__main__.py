"""`python -m engine` is `runahead`."""

import sys

from engine.cli.main import main

sys.exit(main())
