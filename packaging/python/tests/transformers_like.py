# SPDX-License-Identifier: MIT
"""BERT (Devlin et al., 2018), GPT-2 (Radford et al., 2019) and ViT (Dosovitskiy et al., 2020) in plain modules,
with their sizes."""

from __future__ import annotations

import math

import torch
from torch import nn


class Attention(nn.Module):
    """Attention with several heads.

    Args:
        causal: a token sees only those before it.
    """

    def __init__(self, width: int, heads: int, causal: bool, positions: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        if causal:
            self.register_buffer("hidden", torch.ones(1, 1, positions, positions, dtype=torch.bool).triu(1))
        else:
            self.hidden = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape

        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)

        scores = heads(self.query(x)) @ heads(self.key(x)).transpose(-2, -1) / math.sqrt(width // self.heads)
        if self.hidden is not None:
            scores = scores.masked_fill(self.hidden[:, :, :tokens, :tokens], float("-inf"))
        mixed = self.dropout(scores.softmax(-1)) @ heads(self.value(x))
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    """A layer; `first` normalises the inputs of its halves, otherwise their outputs."""

    def __init__(self, width: int, heads: int, causal: bool, positions: int, first: bool) -> None:
        super().__init__()
        self.first = first
        self.attention = Attention(width, heads, causal, positions)
        self.attention_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )
        self.feed_forward_norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.first:
            x = x + self.attention(self.attention_norm(x))
            return x + self.feed_forward(self.feed_forward_norm(x))
        x = self.attention_norm(x + self.attention(x))
        return self.feed_forward_norm(x + self.feed_forward(x))


class Bert(nn.Module):
    """BERT-base: maps tokens of shape (batch, tokens) to hidden states and the pooled first one."""

    def __init__(
        self,
        layers: int = 12,
        width: int = 768,
        heads: int = 12,
        vocabulary: int = 30522,
        positions: int = 512,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)
        self.layers = nn.ModuleList(Block(width, heads, False, positions, False) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor, segments: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.norm(self.words(tokens) + self.positions(places) + self.segments(segments)))
        for layer in self.layers:
            x = layer(x)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Gpt2(nn.Module):
    """GPT-2: maps tokens of shape (batch, tokens) to logits, with the embedding's table."""

    def __init__(
        self,
        layers: int = 12,
        width: int = 768,
        heads: int = 12,
        vocabulary: int = 50257,
        positions: int = 1024,
    ) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(positions, width)
        self.dropout = nn.Dropout(0.1)
        self.h = nn.ModuleList(Block(width, heads, True, positions, True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.wte(tokens) + self.wpe(places))
        for layer in self.h:
            x = layer(x)
        return self.head(self.norm(x))


class ViTBlock(nn.Module):
    """A layer of a ViT around PyTorch's own module of attention, as torchvision has it."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.attention_norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.feed_forward(self.feed_forward_norm(x))


class ViT(nn.Module):
    """ViT-B/16: maps images of shape (batch, 3, size, size) to logits."""

    def __init__(
        self,
        layers: int = 12,
        width: int = 768,
        heads: int = 12,
        size: int = 224,
        patch: int = 16,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.ModuleList(ViTBlock(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1000)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])
