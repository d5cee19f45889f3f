"""The GPT itself, readable in one sitting and in this order.

1. ``config``       every number that shapes a model
2. ``embedding``    a character's id becomes a vector: a table to look up
3. ``position``     where the character stands: learned, sinusoidal, RoPE, ALiBi
4. ``norm``         keep vectors at a healthy length
5. ``attention``    every position gathers from the positions it may see
6. ``feedforward``  every position thinks about what it gathered
7. ``block``        attention and feed-forward around a residual stream
8. ``loss``         how far the predictions are from the text
9. ``gpt``          blocks on top of each other
10. ``cache``       keys and values kept, so that writing does not recompute the past
11. ``observed``    the same once more, every number with its name; ``hooks`` to look at them

``language_model`` says what the GPT has in common with what came before it: ``recurrent`` (LSTM
and GRU), ``ngram``, ``word2vec``; ``making`` makes the one that a config describes.

``step``, ``native_step`` and ``packed`` are for speed alone: one new token as fast as the machine
can read weights.

Nothing here knows of text, files or training: numbers in, numbers out.

Letters in shape comments, everywhere in Mingyue:
``B`` batch, ``T`` tokens (queries), ``S`` tokens attended to (keys), ``C`` d_model,
``H`` heads, ``D`` width of a head, ``F`` width of the feed-forward layer, ``V`` vocabulary.
"""
