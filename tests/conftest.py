"""How Hypothesis searches: "ci" is quick and always the same, "long" looks for hours if it is let.

``HYPOTHESIS_PROFILE=long pytest --timeout=0 tests/test_fold_properties.py`` chooses the other one.  Only it
shrinks what it finds, which takes longer than a test may take here.  Tests that replay large histories or carry large
documents take all of them then, and a part otherwise (``tests.shared.LONG``).
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "ci",
    derandomize=True,
    max_examples=40,
    stateful_step_count=30,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile(
    "long",
    max_examples=5_000,
    stateful_step_count=80,
    deadline=None,
    suppress_health_check=SLOW_IS_FINE,
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
