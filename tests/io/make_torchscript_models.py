#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes TorchScript models for tst_torchscript: make_torchscript_models.py FOLDER [NAME...].

All weights are one zero, seen as a tensor of the right shape, so that files are small; images are small, since a trace does not depend on
their size. Exits with 77 where there is no PyTorch or no torchvision.
"""
import io
import pathlib
import sys
import warnings
import zipfile
from typing import Tuple

try:
    import torch
    import torchvision
    from torch import nn
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


class Attention(nn.Module):
    """Softmax of products, in as many heads."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        batch, length, width = x.shape

        def split(y):
            return y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = torch.matmul(query, key.transpose(-1, -2)) / (width // self.heads) ** 0.5
        if self.causal:
            visible = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
            scores = scores.masked_fill(~visible, float("-inf"))
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.causal = causal
        self.attention = Attention(width, heads, causal)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        if self.causal:  # norms first, as in GPT-2
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Bert(nn.Module):
    """BERT-base with its pooler (Devlin et al., 2018)."""

    def __init__(self, width=768, layers=12, heads=12, vocabulary=30522, positions=512):
        super().__init__()
        self.word, self.position = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.token_type, self.norm = nn.Embedding(2, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(Block(width, heads, causal=False) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens, types):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.word(tokens) + self.position(positions) + self.token_type(types))
        for layer in self.layers:
            x = layer(x)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Gpt2(nn.Module):
    """GPT-2 small, whose logits share the table of its tokens (Radford et al., 2019)."""

    def __init__(self, width=768, layers=12, heads=12, vocabulary=50257, positions=1024):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.h = nn.ModuleList(Block(width, heads, causal=True) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Sum(nn.Module):
    """Branches and loops, to be scripted: what it does depends on sizes, or (by_numbers) on numbers."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.rnn = nn.LSTM(4, 6, num_layers=2, bidirectional=True)
        self.by_numbers = False

    def forward(self, x, weight: float = 2.0):
        if x.size(0) > 3:
            x = x[:3]
        total = torch.zeros_like(x)
        for i in range(x.size(0)):
            total = total + self.linear(x) * weight
        if self.by_numbers and float(x.sum()) > 0:
            total = torch.relu(total)
        y, _ = self.rnn(total)
        return {"y": y, "total": total}


class Writes(nn.Module):
    """Would write a file where it is called."""

    def forward(self, x):
        torch.save("not asked for", "written_by_a_model.txt")
        return x + 1


class WritesWhenLoaded(nn.Module):
    """Would write to the file "victim" where it is loaded."""

    buffer: torch.Tensor

    def __init__(self):
        super().__init__()
        self.buffer = torch.zeros(1)

    def forward(self, x):
        return x + 1

    @torch.jit.export
    def __getstate__(self):
        return 1, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[int, bool]):
        self.training = state[1]
        self.buffer = torch.from_file("victim", True, 8, dtype=torch.uint8).fill_(88)


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, num_layers=2)

    def forward(self, x):
        return self.lstm(x)[0]


class Collected(nn.Module):
    """To be scripted: tensors in a list and a dict, and a text of one more operator, which takes any number of arguments."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        assert x.size(1) == 4, f"expected 4 columns, got {x.size(1)}"
        torch._assert(x.size(0) > 0, f"expected rows, got {x.size(0)} of {x.size(1)}")
        rows, by_name = [x], {"x": x}
        for _ in range(3):
            rows.append(self.linear(rows[-1]))
            by_name["y"] = rows[-1]
        return torch.cat(rows, 1) + torch.cat([by_name["x"], by_name["y"], rows.pop(), rows[0]], 1)


class Contraction(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(6, 4))
        self.unread = nn.Linear(4, 2)

    def forward(self, x):
        return torch.einsum("bti,oi->bto", x, self.weight)


class Moved(nn.Module):
    """To be scripted: LibTorch has sizes of none of these without numbers."""

    def forward(self, x, grid):
        shifted = torch.roll(x, (1, 1), (2, 3))
        sampled = nn.functional.grid_sample(shifted, grid, align_corners=True)
        repeated = sampled.repeat_interleave(3, dim=-1).repeat_interleave(2, 0)
        return nn.functional.max_pool3d(repeated, (1, 2, 4), padding=(0, 1, 0), ceil_mode=True)


class Repeated(nn.Module):
    """To be traced: how often is a tensor of one number."""

    def forward(self, x):
        return torch.repeat_interleave(x, x.shape[1], dim=0), torch.repeat_interleave(x, x.shape[0])


class WithoutNumbers(nn.Module):
    """What LibTorch has no meta kernels for."""

    def __init__(self):
        super().__init__()
        self.steps = nn.Sequential(nn.Hardtanh(), nn.ReLU6(), nn.Hardswish(), nn.LogSigmoid(), nn.Softsign(), nn.ReflectionPad2d(1))

    def forward(self, x):
        x = torch.flip(self.steps(x), [1])
        deviation, mean = torch.std_mean(x, 1, keepdim=True)
        x = (x - mean) / deviation * torch.var(x)
        return torch.logsumexp(torch.nn.functional.pad(x, [1, 2, 0, 0], mode="replicate"), [2, 3])


class Distances(nn.Module):
    """To be traced: LibTorch has sizes of none of these without numbers."""

    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(10, 6)
        self.same = nn.Conv2d(3, 3, 3, padding="same")

    def forward(self, x, words):
        f = nn.functional
        image = f.fold(f.unfold(self.same(x), 3, padding=1, stride=2), (8, 8), 3, padding=1, stride=2)
        pairs = torch.cdist(image.flatten(2), x.flatten(2))
        one = torch.dot(pairs[0, 0], pairs[0, 1])
        places = torch.bucketize(pairs, torch.linspace(0, 1, 5))
        classes = f.one_hot(places, 6)
        rows, columns = torch.tril_indices(3, 3, -1)
        one = one + pairs[:, rows, columns].sum()
        return classes * one, torch.isnan(x) | torch.isinf(x) | torch.logical_not(torch.isfinite(x)), self.bag(words)


class Started(nn.Module):
    """To be traced: a convolution of what no input gives."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)

    def forward(self, x):
        return x + self.conv(torch.zeros(1, 2, 8, 8))


class Boxes(nn.Module):
    """To be scripted: calls an operator that LibTorch alone has not."""

    def forward(self, boxes, scores):
        return torchvision.ops.nms(boxes, scores, 0.5)


class Frequencies(nn.Module):
    """To be traced: a number of Python is a tensor of 64 bits in the file."""

    def __init__(self):
        super().__init__()
        self.linear = nn.utils.weight_norm(nn.Linear(8, 4))

    def forward(self, x):
        return self.linear(x * torch.exp(torch.arange(8) * -0.5))


class WrittenThroughViews(nn.Module):
    """Of both linear maps only what they write into other tensors is read; what is written later than a view is in it, too."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        y = torch.zeros(2, 8)
        y[:, :4] = self.second(self.first(x))
        seen = y.view(16)
        y.mul_(2)
        return seen


class Twice(nn.Module):
    """Calls another module two times: in each other, they make as many calls as 2 to their number."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) + self.inner(x)


def twice_in_each_other(levels):
    model = nn.ReLU()
    for _ in range(levels):
        model = Twice(model)
    return model


def traced(model, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sizes that a trace keeps as numbers
        return torch.jit.trace(model.eval(), inputs, check_trace=False)


def light(model):
    """Replaces all weights by one zero. Tensors in two places stay one tensor."""
    done = {}
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.dim() > 0:
            tensor.data = done.setdefault(id(tensor), torch.zeros(1, dtype=tensor.dtype).expand(tensor.shape))
    return model


def image(size=64):
    return torch.zeros(1, 3, size, size)


def vision(name, size=64, **options):
    return lambda: traced(light(getattr(torchvision.models, name)(weights=None, **options)), image(size))


def scripted_sum(by_numbers):
    model = Sum()
    model.by_numbers = by_numbers
    return torch.jit.script(model)


def pickled(path):
    torch.save(nn.Linear(2, 3), path)


def two_in_one(path, first, last):
    """Two archives in one file: what follows the first is its comment, so that readers differ in which one they see."""
    file, ends = io.BytesIO(), []
    for model, packing in (first, zipfile.ZIP_STORED), (last, zipfile.ZIP_DEFLATED):
        members = zipfile.ZipFile(io.BytesIO(torch.jit.script(model).save_to_buffer()))
        with zipfile.ZipFile(file, "w", packing) as archive:
            for name in members.namelist():
                if not name.endswith(".debug_pkl"):  # a comment has at most 64 KiB
                    archive.writestr(name, members.read(name))
        ends.append(file.tell())
    whole = bytearray(file.getvalue())
    whole[ends[0] - 2 : ends[0]] = (ends[1] - ends[0]).to_bytes(2, "little")
    path.write_bytes(whole)


tokens = torch.zeros(1, 8, dtype=torch.int64)
MODELS = {
    **{name: vision(name) for name in ("alexnet", "resnet18", "resnet50", "resnet101", "resnet152", "vgg16", "densenet121", "mobilenet_v2")},
    "inception_v3": vision("inception_v3", 96, init_weights=False),
    "swin_t": vision("swin_t", 224),  # its trace keeps the sizes of windows
    "googlenet": vision("googlenet", init_weights=False, aux_logits=False),
    "bert": lambda: traced(light(Bert()), tokens, tokens),
    "gpt2": lambda: traced(light(Gpt2()), tokens),
    "scripted_resnet18": lambda: torch.jit.script(light(torchvision.models.resnet18(weights=None).eval())),
    "scripted_densenet121": lambda: torch.jit.script(light(torchvision.models.densenet121(weights=None).eval())),
    "scripted_vit": lambda: torch.jit.script(light(torchvision.models.vit_b_16(weights=None).eval())),
    "scripted_encoder": lambda: torch.jit.script(nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32), 2).eval()),
    "collected": lambda: torch.jit.script(Collected()),
    "by_sizes": lambda: scripted_sum(False),
    "by_numbers": lambda: scripted_sum(True),
    "writes": lambda: torch.jit.script(Writes()),
    "writes_when_loaded": lambda: torch.jit.script(nn.Sequential(nn.Linear(4, 4), WritesWhenLoaded())),
    "scripted_lstm": lambda: torch.jit.script(Cells()),
    "traced_lstm": lambda: traced(Cells(), torch.zeros(5, 2, 4)),
    "contraction": lambda: torch.jit.script(Contraction()),
    "moved": lambda: torch.jit.script(Moved()),
    "distances": lambda: traced(Distances(), image(8), torch.zeros(4, 5, dtype=torch.int64)),
    "started": lambda: traced(Started(), torch.zeros(1, 4, 8, 8)),
    "boxes": lambda: torch.jit.script(Boxes()),
    "frequencies": lambda: traced(Frequencies(), torch.zeros(2, 8)),
    "without_numbers": lambda: traced(WithoutNumbers(), image(8)),
    "written_through_views": lambda: torch.jit.script(WrittenThroughViews()),
    "traced_through_views": lambda: traced(WrittenThroughViews(), torch.zeros(2, 8)),
    "repeated": lambda: traced(Repeated(), torch.zeros(2, 3)),
    "doubling": lambda: torch.jit.script(twice_in_each_other(40)),
    "in_training": lambda: torch.jit.trace(
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 2)), torch.zeros(1, 3, 4, 4), check_trace=False
    ),
    "half": lambda: torch.jit.script(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).half()),
    "encoder_layer": lambda: traced(nn.TransformerEncoderLayer(16, 2, 32), torch.zeros(5, 2, 16)),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # Nobody looks at the weights.
    for name in dir(nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(nn.init, name, lambda tensor, *_, **__: tensor)
    for name in sys.argv[2:] or MODELS:
        MODELS[name]().save(str(folder / f"{name}.pt"))
    pickled(folder / "pickled.pt")
    two_in_one(folder / "two_in_one.pt", Contraction(), nn.Sequential(nn.Linear(4, 4), WritesWhenLoaded()))
    torch.save({"w": torch.zeros(2)}, folder / "legacy.pt", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main()
