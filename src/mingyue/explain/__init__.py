"""Look inside a model: every concept of the article as an exhibit on the reader's own model.

1. ``subject``    who is looked at: a model, its tokenizer, a text
2. ``panels``     what can be shown: matrix, curves, bars, scatter, strip, table, steps
3. ``exhibit``    what an exhibit says: what to see, whether this model bears it out, panels
4. ``exhibits``   one file for each; a new file there is a new exhibit
5. ``catalogue``  finds them
6. ``terminal``, ``figure``, ``page``  three renderers of the same panels

``texts`` and ``choosing`` say what to look at; ``measures`` holds what exhibits compute with.

An exhibit computes, a renderer draws, and neither knows of the other. All numbers come from the
model that was given; where a model does not bear out what the article says, the exhibit says so.
"""
