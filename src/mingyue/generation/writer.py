"""Load a run folder and write.

    poet = load("runs/tang")
    print(poet.generate("床前明月光")[0].text)

A text begins after an end token, as every document did in training. The prompt is first put into
the characters the vocabulary has; what was changed is said in the notes of the ``Completion``.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mingyue.errors import UserError
from mingyue.generation.batches import Told, batches, ranked, starts, written
from mingyue.generation.form import Form
from mingyue.generation.prompt import Prompt, Unknown, prepare
from mingyue.generation.sampling import Sampling
from mingyue.generation.stream import Guide
from mingyue.generation.writing import Completion, Request, Start, Writing
from mingyue.interop.run_folder import load_model
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.model.language_model import LanguageModel
from mingyue.model.packed import Precision
from mingyue.model.step import Step
from mingyue.text.tokenizer import Tokenizer

Bias = Mapping[int, float] | Mapping[str, float] | Mapping[int | str, float]


class Writer:
    """A model that writes, with its tokenizer and what is known about it (``mingyue.json``).

    On a CPU it writes with a copy of the weights made for that, in ``precision``: fp32 as they
    are, or fp16, bf16, int8, which are narrower, so take less time to read, and are less exact.

    ``compile`` makes one function of machine code of all that is done for a token, in fp32 or
    int8, which writes about twice as fast. That takes some seconds on a machine's first
    time and half a second later, and numba (``pip install 'mingyue[native]'``). None does so
    where it is there, in fp32, for a single text with 2,000 ``max_tokens`` or more.

    Raises:
        UserError: there is no such precision.
    """

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        about: Mapping[str, Any] | None = None,
        precision: Precision = "fp32",
        compile: bool | None = None,
    ) -> None:
        self.model, self.tokenizer, self.about = model, tokenizer, dict(about or {})
        self._form = Form.checked(precision=precision, compile=compile)
        self.precision: Precision = self._form.precision
        self._steps: dict[type[Step], Step] = {}

    def fast_step(self, n: int = 1, length: int = 0) -> Step | None:
        """The copy of the model as it is now, or None where none can be made.

        It is for ``n`` samples of ``length`` tokens each.

        Raises:
            UserError: none can be made, but compiling, or another precision than the model's, was
                asked for.
        """
        kind = self._form.step(self.model, n, length)
        if kind is None:
            return None
        step = self._steps.get(kind)
        if step is None or not step.fits(self.model):
            assert isinstance(self.model, GPT)
            step = self._steps[kind] = kind(self.model, self.precision)
        return step

    def generate(
        self,
        prompt: str | Sequence[str] = "",
        *,
        n: int = 1,
        max_tokens: int | None = None,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        typical_p: float = 1.0,
        repetition_penalty: float = 1.0,
        logit_bias: Bias | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        unknown: Unknown = "refuse",
        probabilities: int | None = None,
        best: bool = False,
    ) -> list[Completion]:
        """Write ``n`` samples that go on after ``prompt``, or after each of several prompts.

        Each ends with the model's end token, a ``stop`` string (left out), or after
        ``max_tokens`` new tokens, by default as many as the context holds (``block_size``), at
        most 1,024. Where the context is full, learned positions end the text; with all others
        the window moves on.

        ``temperature`` 0 takes the likeliest token each time. ``logit_bias`` goes by id or by
        the text of a single token. For equal ``seed`` the samples are equal; sample *i* of a
        prompt depends neither on ``n`` nor on the other prompts. ``probabilities`` tells the
        model's own probability of each token, and so many alternatives. ``best`` puts the samples
        of each prompt in order, those with the highest mean log-probability first. Prompt
        characters that the vocabulary lacks even in another form are an error, or left out if
        ``unknown`` is "drop".

        Raises:
            UserError: a value out of range, unknown characters, a prompt too long for learned
                positions, or a model that cannot write.
        """
        samples = self.samples(
            prompt,
            n=n,
            max_tokens=max_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            typical_p=typical_p,
            repetition_penalty=repetition_penalty,
            logit_bias=logit_bias,
            seed=seed,
            stop=stop,
            unknown=unknown,
            probabilities=probabilities,
            best=best,
        )
        return list(samples)

    def samples(
        self,
        prompt: str | Sequence[str] = "",
        *,
        n: int = 1,
        max_tokens: int | None = None,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        typical_p: float = 1.0,
        repetition_penalty: float = 1.0,
        logit_bias: Bias | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        unknown: Unknown = "refuse",
        probabilities: int | None = None,
        best: bool = False,
        told: Told | None = None,
    ) -> Iterator[Completion]:
        """What ``generate`` gives for the same values, each batch as soon as it is written.

        ``told`` is called again and again with how many are written, those in hand in part.

        Raises:
            UserError: as ``generate``, at the call and not at the first sample.
        """
        sampling = self._sampling(
            temperature, top_k, top_p, min_p, typical_p, repetition_penalty, logit_bias
        )
        request = Request.of(
            n=n,
            max_tokens=max_tokens,
            seed=seed,
            stop=stop,
            unknown=unknown,
            probabilities=0 if best and probabilities is None else probabilities,
        )
        ready = [
            prepare(each, self.tokenizer, self.model.config, request.unknown)
            for each in ([prompt] if isinstance(prompt, str) else prompt)
        ]
        each = ((one, None) for one in ready for _ in range(n))
        done = self.written(each, sampling, request, told)
        return ranked(done, n) if best else done

    def stream(
        self,
        prompt: str = "",
        *,
        max_tokens: int | None = None,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        typical_p: float = 1.0,
        repetition_penalty: float = 1.0,
        logit_bias: Bias | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        unknown: Unknown = "refuse",
    ) -> Iterator[str | Completion]:
        """Write one sample, its text piece by piece and last the ``Completion``.

        The pieces joined are the completion's text: what ``generate`` gives for the same values.

        Raises:
            UserError: as ``generate``, at the call and not at the first piece.
        """
        sampling = self._sampling(
            temperature, top_k, top_p, min_p, typical_p, repetition_penalty, logit_bias
        )
        request = Request.of(max_tokens=max_tokens, seed=seed, stop=stop, unknown=unknown)
        ready = prepare(prompt, self.tokenizer, self.model.config, request.unknown)
        start = Start(ready, [_seed(request)])
        return self._writing([start], sampling, request).pieces()

    def written(
        self,
        samples: Iterable[tuple[Prompt, Guide | None]],
        sampling: Sampling,
        request: Request,
        told: Told | None = None,
    ) -> Iterator[Completion]:
        """Samples, each with its prompt and guide, ``request.n`` of each prompt in a row; the
        first batch has begun when this returns, so that its errors have been told."""
        alike = self._form.compile is True  # the compiled step has no room for unequal prompts
        seed = _seed(request)
        begun = (
            self._writing(starts(batch, seed), sampling, request)
            for batch in batches(samples, request.n, alike)
        )
        first = list(islice(begun, 1))
        return written(chain(first, begun), told)

    def _writing(self, starts: Sequence[Start], sampling: Sampling, request: Request) -> Writing:
        n = sum(len(start.seeds) for start in starts)
        fast = self.fast_step(n, request.max_tokens or 0)
        return Writing(self.model, self.tokenizer, fast, starts, sampling, request)

    def _sampling(
        self,
        temperature: float,
        top_k: int,
        top_p: float,
        min_p: float,
        typical_p: float,
        repetition_penalty: float,
        logit_bias: Bias | None,
    ) -> Sampling:
        return Sampling.checked(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            typical_p=typical_p,
            repetition_penalty=repetition_penalty,
            logit_bias={self._id_of(k): v for k, v in (logit_bias or {}).items()},
        )

    def _id_of(self, token: int | str) -> int:
        """The id that a key of ``logit_bias`` means."""
        if isinstance(token, int):
            ids = [token] if 0 <= token < self.tokenizer.vocab_size else []
        else:
            ids = [] if self.tokenizer.unknown(token) else self.tokenizer.encode(token)
        if len(ids) != 1:
            raise UserError(
                tr("logit_bias: {token} is not one token of this vocabulary", token=repr(token))
            )
        return ids[0]


def _seed(request: Request) -> int:
    return secrets.randbelow(2**32) if request.seed is None else request.seed


def load(
    folder: str | Path,
    *,
    device: str = "auto",
    precision: Precision = "fp32",
    compile: bool | None = None,
    step: int | None = None,
) -> Writer:
    """The writer of a run folder, or of any transformers folder of a known family.

    ``device`` "auto" is CUDA where there is one, else the CPU; the CPU also for another
    ``precision`` than fp32 and for ``compile``, since these are matters of writing there (see
    ``Writer``). ``step``: as the model was after so many steps of training, for which the run
    must have kept a snapshot.

    Raises:
        UserError: the folder is none, or is damaged (see ``interop.run_folder.load_model``);
            there is no such precision, or no such snapshot.
    """
    form = Form.checked(precision=precision, compile=compile)
    if device == "auto":
        import torch

        cuda = torch.cuda.is_available() and form.precision == "fp32" and not form.compile
        device = "cuda" if cuda else "cpu"
    return Writer(*load_model(folder, device, step), precision=form.precision, compile=compile)
