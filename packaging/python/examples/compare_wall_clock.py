#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares simulated training steps with real ones on one CPU thread.

    python3 compare_wall_clock.py --cli placewright-cli

Eight small networks are exported with measured op times, simulated, and run, several times in turns. A step
is forward, loss and backward; the optimizer does not count. Times are CPU times of this process, so other
programs disturb them little. Printed are medians of the rounds, and the least and largest ratio. A ratio of 1
means that the simulated step takes as long as the real one.
"""

import argparse
import contextlib
import csv
import ctypes
import gc
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

import placewright

Tensors = Tuple[torch.Tensor, ...]

COSTS = ("measured", "roofline")


class Classifier(nn.Module):
    """A network of images with its loss."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.network(images), labels)


class Attention(nn.Module):
    """Attention written out, as in GPT-2 and BERT."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("mask", torch.ones(512, 512).triu(1).bool(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)
        )
        scores = query @ key.transpose(-2, -1) / (width // self.heads) ** 0.5
        if self.causal:
            scores = scores.masked_fill(self.mask[:length, :length], float("-inf"))
        mixed = self.dropout(scores.softmax(-1)) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A transformer layer: GPT-2 normalises before attention and perceptron, BERT behind them."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.attention = Attention(width, heads, causal)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.causal:
            x = x + self.attention(self.norm_1(x))
            return x + self.perceptron(self.norm_2(x))
        x = self.norm_1(x + self.attention(x))
        return self.norm_2(x + self.perceptron(x))


class Transformer(nn.Module):
    """GPT-2 (`causal`: predicts the next token) or BERT (predicts the tokens at their places)."""

    def __init__(self, width: int, heads: int, layers: int, tokens: int, causal: bool) -> None:
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.places = nn.Embedding(512, width)
        self.blocks = nn.ModuleList(Block(width, heads, causal) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


class RootMeanSquare(nn.Module):
    """Normalisation of LLaMA."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = RootMeanSquare(width), RootMeanSquare(width)
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)

    @staticmethod
    def rotated(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        half = x.shape[-1] // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * cosine + turned * sine

    def forward(
        self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        batch, length, width = x.shape
        y = self.norm_1(x)
        query, key, value = (
            linear(y).view(batch, length, self.heads, -1).transpose(1, 2)
            for linear in (self.query, self.key, self.value)
        )
        query, key = self.rotated(query, cosine, sine), self.rotated(key, cosine, sine)
        scores = query @ key.transpose(2, 3) / (width // self.heads) ** 0.5 + mask
        mixed = scores.softmax(-1) @ value
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, width: int, heads: int, layers: int, tokens: int, length: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads) for _ in range(layers))
        self.norm = RootMeanSquare(width)
        self.head = nn.Linear(width, tokens, bias=False)
        size = width // heads
        turns = torch.outer(torch.arange(length).float(), 1e4 ** (-torch.arange(0, size, 2) / size))
        turns = torch.cat((turns, turns), -1)
        self.register_buffer("cosine", turns.cos())
        self.register_buffer("sine", turns.sin())
        self.register_buffer("mask", torch.full((length, length), float("-inf")).triu(1))

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, self.cosine, self.sine, self.mask)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


class UNet(nn.Module):
    """Down and up again, with a connection across on each level."""

    def __init__(self, width: int, levels: int, classes: int) -> None:
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.first = self.double(3, width)
        self.down = nn.ModuleList(self.double(a, b) for a, b in zip(widths, widths[1:]))
        self.lift = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(self.double(2 * a, a) for a in widths[:-1])
        self.last = nn.Conv2d(width, classes, 1)

    @staticmethod
    def double(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(
            *(
                layer
                for a in (inputs, outputs)
                for layer in (nn.Conv2d(a, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())
            )
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        across = [self.first(images)]
        for down in self.down:
            across.append(down(F.max_pool2d(across[-1], 2)))
        x = across.pop()
        for lift, up in zip(reversed(self.lift), reversed(self.up)):
            x = up(torch.cat((lift(x), across.pop()), 1))
        return self.last(x)


class ConvLSTM(nn.Module):
    """A recurrent cell of convolutions (Shi et al., 2015) that reads a sequence of images."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.gates = nn.Conv2d(inputs + width, 4 * width, 3, padding=1)
        self.last = nn.Conv2d(width, inputs, 1)

    def forward(self, images: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        batch, steps, _, rows, columns = images.shape
        hidden = cell = images.new_zeros(batch, self.width, rows, columns)
        for step in range(steps):
            gates = self.gates(torch.cat((images[:, step], hidden), 1))
            let_in, forget, let_out, new = gates.chunk(4, 1)
            cell = forget.sigmoid() * cell + let_in.sigmoid() * new.tanh()
            hidden = let_out.sigmoid() * cell.tanh()
        return F.mse_loss(self.last(hidden), wanted)


class MambaBlock(nn.Module):
    """A selective state space (Gu, Dao, 2023), with its scan as a loop over the steps."""

    def __init__(self, width: int, states: int) -> None:
        super().__init__()
        inner = 2 * width
        self.states, self.rank = states, max(1, width // 16)
        self.norm = RootMeanSquare(width)
        self.inputs = nn.Linear(width, 2 * inner, bias=False)
        self.convolution = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.selection = nn.Linear(inner, self.rank + 2 * states, bias=False)
        self.steps = nn.Linear(self.rank, inner)
        self.log_a = nn.Parameter(torch.log(torch.arange(1.0, states + 1)).repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))
        self.out = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[1]
        u, gate = self.inputs(self.norm(x)).chunk(2, -1)
        u = F.silu(self.convolution(u.transpose(1, 2))[..., :length].transpose(1, 2))
        step, b, c = self.selection(u).split((self.rank, self.states, self.states), -1)
        step = F.softplus(self.steps(step))
        decay = torch.exp(step.unsqueeze(-1) * -torch.exp(self.log_a))
        driven = (step * u).unsqueeze(-1) * b.unsqueeze(2)
        state = torch.zeros_like(decay[:, 0])
        seen = []
        for t in range(length):
            state = decay[:, t] * state + driven[:, t]
            seen.append((state * c[:, t].unsqueeze(1)).sum(-1))
        y = torch.stack(seen, 1) + u * self.skip
        return x + self.out(y * F.silu(gate))


class Mamba(nn.Module):
    def __init__(self, width: int, states: int, layers: int, tokens: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*(MambaBlock(width, states) for _ in range(layers)))
        self.norm = RootMeanSquare(width)
        self.head = nn.Linear(width, tokens, bias=False)

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.blocks(self.tokens(tokens)))
        return F.cross_entropy(self.head(x).flatten(0, 1), labels.flatten())


def images_of(batch: int, size: int) -> Tensors:
    return torch.randn(batch, 3, size, size), torch.randint(1000, (batch,))


def tokens_of(batch: int, length: int) -> Tensors:
    return torch.randint(1000, (batch, length)), torch.randint(1000, (batch, length))


NETWORKS: Dict[str, Callable[[], Tuple[nn.Module, Tensors]]] = {
    "resnet18": lambda: (Classifier(torchvision.models.resnet18()), images_of(4, 112)),
    "mobilenet_v2": lambda: (Classifier(torchvision.models.mobilenet_v2()), images_of(4, 112)),
    "bert": lambda: (Transformer(256, 4, 4, 2000, causal=False), tokens_of(4, 128)),
    "gpt2": lambda: (Transformer(256, 4, 4, 2000, causal=True), tokens_of(4, 128)),
    "llama": lambda: (Llama(256, 4, 4, 2000, 128), tokens_of(4, 128)),
    "unet": lambda: (
        Classifier(UNet(16, 3, 8)),
        (torch.randn(2, 3, 96, 96), torch.randint(8, (2, 96, 96))),
    ),
    "convlstm": lambda: (ConvLSTM(8, 32), (torch.randn(4, 8, 8, 32, 32), torch.randn(4, 8, 32, 32))),
    "mamba": lambda: (Mamba(64, 16, 2, 1000), tokens_of(2, 64)),
}


def step_seconds(model: nn.Module, inputs: Tensors, steps: int) -> List[float]:
    """Returns the CPU seconds of training steps without optimizer: forward, loss, backward."""
    seconds = []
    for _ in range(steps):
        model.zero_grad(set_to_none=True)
        gc.collect()
        began = time.process_time()
        model(*inputs).backward()
        seconds.append(time.process_time() - began)
    return seconds


def keep_memory() -> None:
    """Lets the process keep the memory that it frees. By default glibc gives large tensors back and gets
    them again many times in a step, depending on what ran before, which costs up to half of a step."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD, at its maximum
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def fastest(work: Callable[[], Any], runs: int = 5) -> float:
    """Returns the least CPU seconds of a few runs."""
    seconds = []
    for _ in range(runs):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def machine_here(model: str) -> Dict[str, Any]:
    """Returns a machine file's content for one thread of this CPU, with the speeds of a large product and of
    a large copy."""
    matrix, row = torch.randn(1024, 1024), torch.randn(1 << 25)
    target = torch.empty_like(row)
    return {
        "format": "placewright.machine",
        "version": 1,
        "name": "one thread",
        "devices": [
            {
                "name": "cpu:0",
                "kind": "cpu",
                "model": model,
                "peak_flops": 2 * 1024**3 / fastest(lambda: matrix @ matrix),
                "memory_bandwidth": 2 * 4 * 2**25 / fastest(lambda: target.copy_(row)),
                "memory_bytes": 64 << 30,
                "efficiency": 1,
                "launch_overhead_s": fastest(lambda: [row[:1].neg() for _ in range(1000)]) / 1000,
            }
        ],
        "channels": [],
        "routes": [],
    }


def model_measured(file: Path) -> str:
    """Returns the name of the CPU that a network file has times of."""
    ops = json.loads(file.read_text(encoding="utf-8"))["ops"]
    return next(str(model) for op in ops for model in op.get("time_s", ()))


def simulated(cli: str, network: Path, machine: Path, cost: str) -> float:
    """Returns the simulated seconds of all forward and backward ops."""
    table = network.with_suffix(".csv")
    subprocess.run(
        [cli, "simulate", network, "--machine", machine, "--cost", cost, "--ops", table],
        check=True,
        capture_output=True,
    )
    with table.open(encoding="utf-8") as rows:
        return sum(float(row["time_s cpu:0"]) for row in csv.DictReader(rows) if row["phase"] != "update")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cli", default="placewright-cli", help="path of placewright-cli")
    parser.add_argument(
        "--networks",
        nargs="+",
        choices=NETWORKS,
        default=list(NETWORKS),
        metavar="NAME",
        help=f"networks to compare (default: all of {', '.join(NETWORKS)})",
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all networks (default: 3)")
    parser.add_argument("--steps", type=int, default=10, help="steps in a round (default: 10)")
    parser.add_argument("--out", metavar="FOLDER", help="keep the network files and the machine file there")
    options = parser.parse_args()

    keep_memory()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    folder = Path(options.out or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    networks = {name: NETWORKS[name]() for name in options.networks}
    real: Dict[str, List[float]] = {name: [] for name in networks}
    ratios: Dict[Tuple[str, str], List[float]] = {}
    for _ in range(options.rounds):
        for name, (model, inputs) in networks.items():
            file, machine = folder / f"{name}.json", folder / "machine.json"
            # Half of the steps before the export and half behind: the speed of a CPU changes.
            seconds = step_seconds(model, inputs, 2 + options.steps // 2)[2:]
            placewright.export(model, inputs, file, name=name, measure=["cpu"])
            seconds += step_seconds(model, inputs, 2 + options.steps - options.steps // 2)[2:]
            real[name].append(statistics.median(seconds))
            machine.write_text(json.dumps(machine_here(model_measured(file))), encoding="utf-8")
            for cost in COSTS:
                step_s = simulated(options.cli, file, machine, cost)
                ratios.setdefault((name, cost), []).append(step_s / real[name][-1])

    print("| network | real step, ms | measured op times / real | roofline / real |")
    print("|---|--:|--:|--:|")
    for name in networks:
        cells = [f"{statistics.median(real[name]) * 1e3:.1f}"]
        for cost in COSTS:
            found = ratios[name, cost]
            cells.append(f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
