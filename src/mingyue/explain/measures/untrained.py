"""A model of the same shape that has learned nothing: what it shows too was not learned."""

from dataclasses import replace

import torch

from mingyue.explain.subject import Subject
from mingyue.generation.writer import Writer
from mingyue.model.gpt import GPT


def twin(model: GPT) -> GPT:
    """A fresh model of the same shape, always the same one."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return GPT(model.config).eval().to(model.device)


def untrained(subject: Subject) -> Subject:
    """The same text before a fresh model."""
    return replace(subject, writer=Writer(twin(subject.model), subject.tokenizer))
