"""What all tests share: English messages whatever the locale, no hurry on a busy machine, and the
same random examples each time, so that a red test is about the code in hand. To look for new ones:
``HYPOTHESIS_PROFILE=explore pytest``."""

import os

import pytest
from hypothesis import settings

from mingyue import language

settings.register_profile("mingyue", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "mingyue"))


@pytest.fixture(autouse=True)
def english():
    language.use("en")
    yield
    language.use(None)
