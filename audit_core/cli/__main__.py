"""``python -m audit_core.cli``."""

import sys

from audit_core.cli import main

sys.exit(main())
