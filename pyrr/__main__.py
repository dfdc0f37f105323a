# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m pyrr` is `pyrr`."""

import sys

from pyrr.cli import main

sys.exit(main())
