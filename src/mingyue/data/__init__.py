"""From text to the numbers that training sees: token shards on disk, batches from them.

    dataset = prepare(open_corpus("tang"))
    batches = Batches(dataset.train, batch_size=32, block_size=64, seed=0,
                      end_id=dataset.tokenizer.end_id)
    x, y = batches.batch(0)

Read in this order. ``tokens``: ids on disk. ``blocks``, ``prints``, ``split``: documents in
bulk, recognising copies, what to hold out. ``survey`` and ``writing``: the two passes over the
text. ``dataset``: the result. ``preparation``: all of it in one call, cached. ``batches``: what
the model sees at each step. NumPy only; nothing here knows what a model is.
"""

from mingyue.data.batches import Batches, largest_block
from mingyue.data.dataset import Damaged, Dataset, Split
from mingyue.data.preparation import cache_folder, prepare
from mingyue.data.tokens import Tokens

__all__ = [
    "Batches",
    "Damaged",
    "Dataset",
    "Split",
    "Tokens",
    "cache_folder",
    "largest_block",
    "prepare",
]
