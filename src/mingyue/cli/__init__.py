"""The command line: parse, call, print. It holds no logic of its own.

``main``       the entry: language, streams, errors and exit codes
``app``        the five commands put together
``flags``      an option as data: its name is the setting's name, its reader refuses nonsense
``help``       how help is laid out; ``mistakes``: what was typed wrong, in one line
``screen``     terminals wide and narrow, coloured or not, or no terminal at all
``train`` (with ``settings`` and ``live``), ``write``, ``eval``, ``info``, ``data``   the commands

Help must come at once, so nothing here imports torch, NumPy or pydantic before a command runs.
"""
