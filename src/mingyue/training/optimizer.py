"""Which parameter is stepped by what.

Parameters differ in role, and the role decides:

| role                                 | with ``muon`` | with ``adamw`` | weight decay |
|--------------------------------------|---------------|----------------|--------------|
| matrices in the blocks               | Muon          | AdamW          | yes          |
| output head, or the table tied to it | AdamW         | AdamW          | yes          |
| embedding, positions                 | AdamW         | AdamW          | no           |
| norms, biases                        | AdamW         | AdamW          | no           |

A table's rows are looked up one by one, so a batch moves only a few of them: it has no use for
Muon, which turns a matrix as a whole. The head is a matrix, but a row of it belongs to a
character in the same way. AdamW (Kingma & Ba 2014; Loshchilov & Hutter 2017) is torch's, fused.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from mingyue.model.language_model import LanguageModel
from mingyue.training.config import TrainConfig
from mingyue.training.muon import Muon, Part


def build_optimizer(
    model: LanguageModel, config: TrainConfig, dtype: torch.dtype = torch.float32
) -> "Optimizer":
    """The optimizer of ``config`` for all of ``model``'s parameters that are not frozen.

    ``dtype`` is what Muon multiplies in.
    """
    matrices: list[tuple[str, nn.Parameter]] = []
    # role → (parameters, full rate, weight decay)
    tables: list[tuple[str, nn.Parameter]] = []
    head: list[tuple[str, nn.Parameter]] = []
    vectors: list[tuple[str, nn.Parameter]] = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if parameter.dim() < 2:
            vectors.append((name, parameter))
        elif name.startswith("blocks."):
            matrices.append((name, parameter))
        elif parameter is model.unembedding:
            head.append((name, parameter))
        else:
            tables.append((name, parameter))

    base, decay = config.learning_rate, config.weight_decay
    groups = [
        (tables, config.embedding_rate or base, 0.0),
        (head, config.head_rate or base, decay),
        (vectors, base, 0.0),
    ]
    muon = None
    if config.optimizer == "muon":
        muon = Muon(
            (part for name, p in matrices for part in parts(name, p, model)),
            momentum=config.momentum,
            weight_decay=decay,
            dtype=dtype,
        )
    else:
        groups.append((matrices, base, decay))
    return Optimizer(muon, config.matrix_rate, groups, (config.beta1, config.beta2))


def parts(name: str, parameter: nn.Parameter, model: LanguageModel) -> list[Part]:
    """The different maps that one weight holds: Q, K and V; gate and up; else the weight."""
    config, rows = model.config, [parameter.shape[0]]
    if config.kind in ("lstm", "gru"):
        rows = [config.d_model] * (parameter.shape[0] // config.d_model)  # one map for each gate
    elif name.endswith("attention.qkv.weight"):
        queries, keys = (heads * config.head_width for heads in (config.n_head, config.kv_heads))
        rows = [queries, keys, keys]
    elif name.endswith("ffn.up.weight") and config.activation == "swiglu":
        rows = [config.ffn_width] * 2
    starts = [sum(rows[:i]) for i in range(len(rows))]
    return [Part(name, parameter, start, n) for start, n in zip(starts, rows, strict=True)]


class Optimizer:
    """Muon and AdamW as one: ``step``, ``zero_grad`` and a state of named tensors."""

    def __init__(
        self,
        muon: Muon | None,
        matrix_rate: float,
        groups: Iterable[tuple[list[tuple[str, nn.Parameter]], float, float]],
        betas: tuple[float, float],
    ):
        self.muon, self.matrix_rate = muon, matrix_rate
        groups = [group for group in groups if group[0]]
        self.names = [name for named, _, _ in groups for name, _ in named]
        self.full_rates = [rate for _, rate, _ in groups]
        self.adamw: torch.optim.AdamW | None = None
        if groups:
            settings = [
                {"params": [p for _, p in named], "lr": rate, "weight_decay": decay}
                for named, rate, decay in groups
            ]
            fused = all(
                p.device.type in ("cpu", "cuda", "mps") for named, _, _ in groups for _, p in named
            )
            self.adamw = torch.optim.AdamW(settings, betas=betas, eps=1e-10, fused=fused)

    @property
    def parameters(self) -> list[nn.Parameter]:
        """Every parameter that is stepped, each once."""
        found: dict[int, nn.Parameter] = {}
        for group in self.muon.groups if self.muon else []:
            found.update({id(part.parameter): part.parameter for part in group.parts})
        for group in self.adamw.param_groups if self.adamw else []:
            found.update({id(p): p for p in group["params"]})
        return list(found.values())

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self, share: float) -> None:
        """Move all parameters, with ``share`` (0 … 1) of their full rates."""
        if self.muon is not None:
            self.muon.step(self.matrix_rate * share)
        if self.adamw is not None:
            for group, full in zip(self.adamw.param_groups, self.full_rates, strict=True):
                group["lr"] = full * share
            self.adamw.step()

    def state(self) -> dict[str, Tensor]:
        """Everything it remembers: ``muon.NAME`` and ``adamw.NAME.{exp_avg,exp_avg_sq,step}``."""
        state = {f"muon.{name}": t for name, t in self.muon.state().items()} if self.muon else {}
        for name, parameter in self._adamw_parameters():
            assert self.adamw is not None
            for key, value in self.adamw.state.get(parameter, {}).items():
                state[f"adamw.{name}.{key}"] = value
        return state

    def load(self, state: dict[str, Tensor]) -> None:
        """Take back what ``state`` gave.

        Raises:
            KeyError: when something is missing.
        """
        if self.muon is not None:
            self.muon.load(
                {k.removeprefix("muon."): t for k, t in state.items() if k.startswith("muon.")}
            )
        for name, parameter in self._adamw_parameters():
            assert self.adamw is not None
            prefix = f"adamw.{name}."
            if f"{prefix}step" not in state:
                continue  # saved before the first step
            self.adamw.state[parameter] = {
                key: state[prefix + key]
                .clone()
                .to(parameter.device if key != "step" or self.adamw.defaults["fused"] else "cpu")
                for key in ("step", "exp_avg", "exp_avg_sq")
            }

    def _adamw_parameters(self) -> Iterable[tuple[str, nn.Parameter]]:
        if self.adamw is None:
            return []
        flat = [p for group in self.adamw.param_groups for p in group["params"]]
        return zip(self.names, flat, strict=True)
