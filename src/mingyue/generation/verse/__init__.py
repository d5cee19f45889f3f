"""Poems that hold a form: what is asked, the plan, the rules, and the guide that keeps them."""

from mingyue.generation.verse.demand import Demand
from mingyue.generation.verse.poem import Poem
from mingyue.generation.verse.poet import poems

__all__ = ["Demand", "Poem", "poems"]
