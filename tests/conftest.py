"""What several tests share."""

from __future__ import annotations

import os

from hypothesis import settings as hypothesis_settings

# A failure must be the change's, so laws are tried on the same examples every time; CEQL_EXPLORE=1 draws new ones.
hypothesis_settings.register_profile("same", derandomize=True)
hypothesis_settings.load_profile("default" if os.environ.get("CEQL_EXPLORE") else "same")
