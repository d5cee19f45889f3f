"""The one error a person is meant to read.

Everything that can be wrong with what somebody typed or handed us ends as a ``UserError``:
one line that says what is wrong, where, and what to do. The command line prints that line
and leaves with exit code 2; a program that imports Mingyue can catch it by name.
Anything else that escapes is a bug of ours and keeps its traceback.
"""


class UserError(Exception):
    """What is wrong, where, and what to do about it, in one line, already translated."""
