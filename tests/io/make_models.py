#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the networks that tests read, as PyTorch and torchvision export them.

The files hold the structure alone: ONNX without parameters, in training mode, without constant folding, with an open batch size.
"""
import argparse
import pathlib
import sys
import warnings

try:
    import torch
    import torchvision
    from torch import nn
except ImportError as error:
    print(f"{error}: tests of exported networks are skipped")
    sys.exit(77)


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.dropout = nn.Dropout(0.1)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x, mask):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = query @ key.transpose(-1, -2) / query.size(-1) ** 0.5
        scores = scores.masked_fill(mask == 0, -1e4) if self.causal else scores + mask
        mixed = self.dropout(scores.softmax(-1)) @ value
        return self.output(mixed.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    """A layer of BERT (norms after the sums) or, causal, of GPT-2 (norms before)."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.causal = causal
        self.attention = Attention(width, heads, causal)
        self.up, self.down, self.gelu = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.GELU()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout1, self.dropout2 = nn.Dropout(0.1), nn.Dropout(0.1)

    def forward(self, x, mask):
        if self.causal:
            x = x + self.dropout1(self.attention(self.norm1(x), mask))
            return x + self.dropout2(self.down(self.gelu(self.up(self.norm2(x)))))
        x = self.norm1(x + self.dropout1(self.attention(x, mask)))
        return self.norm2(x + self.dropout2(self.down(self.gelu(self.up(x)))))


class Bert(nn.Module):
    """The encoder of BERT-base with its pooler (Devlin et al., 2018): 109,482,240 parameters."""

    def __init__(self, width=768, heads=12, layers=12, words=30522, positions=512):
        super().__init__()
        self.words, self.positions, self.types = nn.Embedding(words, width), nn.Embedding(positions, width), nn.Embedding(2, width)
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Block(width, heads, False) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens, types, mask):
        positions = torch.arange(tokens.size(1)).unsqueeze(0)
        x = self.dropout(self.norm(self.words(tokens) + self.positions(positions) + self.types(types)))
        mask = (1.0 - mask[:, None, None, :].float()) * -1e4
        for layer in self.layers:
            x = layer(x, mask)
        return x, self.pooler(x[:, 0]).tanh()


class Gpt2(nn.Module):
    """The small GPT-2 (Radford et al., 2019), whose logits share the table of words: 124,439,808 parameters."""

    def __init__(self, width=768, heads=12, layers=12, words=50257, positions=1024):
        super().__init__()
        self.words, self.positions, self.dropout = nn.Embedding(words, width), nn.Embedding(positions, width), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Block(width, heads, True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.logits = nn.Linear(width, words, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(positions, positions, dtype=torch.uint8)).view(1, 1, positions, positions),
                             persistent=False)

    def forward(self, tokens):
        length = tokens.size(1)
        x = self.dropout(self.words(tokens) + self.positions(torch.arange(length).unsqueeze(0)))
        for layer in self.layers:
            x = layer(x, self.mask[:, :, :length, :length])
        return self.logits(self.norm(x))


def vision(name, size=224, **options):
    return lambda: (getattr(torchvision.models, name)(**options), (torch.zeros(2, 3, size, size),))


def tokens(length=128):
    return torch.zeros(2, length, dtype=torch.int64)


MODELS = {
    "alexnet": vision("alexnet"),
    "vgg16": vision("vgg16"),
    "resnet18": vision("resnet18"),
    "resnet50": vision("resnet50"),
    "resnet101": vision("resnet101"),
    "resnet152": vision("resnet152"),
    # ONNX has no adaptive pool of the size that the auxiliary heads of GoogLeNet need.
    "googlenet": vision("googlenet", aux_logits=False, init_weights=False),
    "inception_v3": vision("inception_v3", 299, init_weights=False),
    "densenet121": vision("densenet121"),
    "mobilenet_v2": vision("mobilenet_v2"),
    "bert_like": lambda: (Bert(), (tokens(), tokens(), tokens())),
    "gpt2_like": lambda: (Gpt2(), (tokens(),)),
}


def make(name):
    """The model and example inputs. All parameters are views of a single zero."""
    model, inputs = MODELS[name]()
    for parameter in model.parameters():
        parameter.data = torch.zeros(1).expand(parameter.shape)
    if name == "gpt2_like":  # tied after each got its own zero
        model.logits.weight = model.words.weight
    return model.train(), inputs


def write_onnx(model, inputs, file):
    names = [f"input{i}" for i in range(len(inputs))]
    torch.onnx.export(model, inputs, file, export_params=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      opset_version=13, input_names=names, dynamic_axes={name: {0: "batch"} for name in names})


FORMATS = {"onnx": write_onnx}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    # Values do not matter, and random ones take most of the time.
    for function in [item for item in dir(nn.init) if item.endswith("_")]:
        setattr(nn.init, function, lambda tensor, *_, **__: tensor)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        for name in arguments.models:
            model, inputs = make(name)
            for suffix in arguments.formats:
                FORMATS[suffix](model, inputs, str(arguments.folder / f"{name}.{suffix}"))


if __name__ == "__main__":
    main()
