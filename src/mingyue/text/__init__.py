"""The ground floor: how text comes in and becomes numbers.

Read in this order. ``document`` and ``report`` say what a text is and what happened to it on
the way in. ``encoding`` turns bytes of unknown origin into characters, ``readers`` turns files
into documents, ``cleaning`` makes poems of raw transcriptions, ``tang`` and ``songci`` are the
two collections that come with Mingyue, ``world`` has two little ones that a ``grammar`` makes
up to look inside a model with, and ``corpus`` is the one door to all of them. The
tokenizers then turn characters into ids. Nothing here knows what a model is.
"""
