# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts as frozen data: system calls, events, fields. Generators and tests read these."""
