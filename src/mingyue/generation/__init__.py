"""Writing: from a prompt to text.

``sampling``   from the scores of all tokens to one token
``decode``     the loop: score, sample, append, with a KV cache
``pieces``     from ids to text that can be shown, held back while it may still change
``writing``    a batch of samples on their way, each until it ends
``writer``     all of it behind ``load(folder).generate(prompt)``
"""
