"""A run folder is a transformers model folder, and the other way round.

``run_folder`` saves and loads. Which layout a model gets is decided by the families, one file
each: ``gpt2``, ``llama``, ``qwen3``, ``arcee``; the first that expresses the model exactly is
taken, and ``native`` what none of them can say. Each holds two tables, settings and names of
weights, in both directions. ``weights`` moves tensors along such a table and is strict about
every name and shape; ``rotary`` is what the families with RoPE have in common. ``stored`` reads
what strangers stored; ``snapshots`` are a run's weights along the way; ``gguf`` writes for
llama.cpp.
"""
