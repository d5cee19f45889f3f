"""Training: from a prepared text to a model that has learned it.

Read in this order; each file has one idea:

1. ``config``: every dial, with its default. The place to look for a number.
2. ``schedule``: how large a step may be, as a function of its number.
3. ``muon``: an optimizer for matrices; ``optimizer``: which parameter is stepped by what.
4. ``step``: one step of learning: predict, compare, go back, clip, move.
5. ``loop``: step after step. ``look``: now and then, a look at unseen text (``sample``: and a
   few characters of the model's own).
6. ``precision``, ``compiling``: where, with how many bits and how fast to calculate.
7. ``budget``: how many steps fit into the minutes given.
8. ``watch``: what the losses tell: the best so far, memorising. ``average``: smoother weights.
9. ``state``, ``session``: what the loop carries and works with. ``checkpoint``, ``log``,
   ``interrupt``: none of it may be lost. ``snapshots``: the weights along the way, for looking
   back.
10. ``observe``: what a progress bar gets to see; ``tensorboard``: one that looks.
11. ``embeddings``: start from given character vectors.
12. ``dial``: from minutes to a model, with a ``ladder`` of sizes, a ``trial`` of their speed and
    a ``law`` of their loss; ``choosing`` makes a recipe of it, ``told`` says why.
13. ``counting``, ``counted``: the n-gram model, which needs no steps.
14. ``recipe``, ``reading``, ``lock``, ``setup``, ``run``, ``outcome``: all of it together,
    from the name of a text to a run folder.
"""
