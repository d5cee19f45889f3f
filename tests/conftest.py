"""What all tests share: English messages whatever the locale, and no hurry on a busy machine."""

import pytest
from hypothesis import settings

from mingyue import language

settings.register_profile("mingyue", deadline=None)
settings.load_profile("mingyue")


@pytest.fixture(autouse=True)
def english():
    language.use("en")
    yield
    language.use(None)
