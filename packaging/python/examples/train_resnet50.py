#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains torchvision's ResNet-50 on random images under a placement.

    python3 train_resnet50.py --export resnet50.json
    placewright-cli optimize resnet50.json --machine 4x-v100-nvlink --out placement.json
    python3 train_resnet50.py --placement placement.json
"""

import argparse
from typing import Dict, Optional, Sequence

import torch
import torchvision

import placewright


def device_pair(text: str) -> Sequence[str]:
    name, equals, device = text.partition("=")
    if not (name and equals and device):
        raise argparse.ArgumentTypeError(f"{text!r} is invalid, expected NAME=DEVICE such as gpu:0=cuda:1")
    return name, device


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--export", metavar="FILE", help="write the network file and exit")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="with --export: measure every op on the devices of this computer",
    )
    parser.add_argument("--placement", metavar="FILE", help="placement file (default: all ops on one device)")
    parser.add_argument(
        "--devices",
        metavar="NAME=DEVICE",
        nargs="+",
        type=device_pair,
        help="PyTorch device for each device of the placement, such as gpu:0=cuda:1 cpu:0=cpu",
    )
    parser.add_argument("--batch", type=int, default=32, help="batch size (default: 32)")
    parser.add_argument(
        "--steps", type=int, default=20, help="steps to measure, after one warm-up step (default: 20)"
    )
    parser.add_argument(
        "--size", type=int, default=224, help="width and height of the images in pixels (default: 224)"
    )
    parser.add_argument("--trace", metavar="FILE", help="write a Chrome trace of one step")
    options = parser.parse_args()

    torch.manual_seed(1)
    model = torchvision.models.resnet50()
    images = torch.randn(options.batch, 3, options.size, options.size)
    if options.export:
        print(placewright.export(model, images, options.export, name="resnet50", measure=options.measure))
        return
    if not options.placement and torch.cuda.is_available():
        model.cuda()
    devices: Optional[Dict[str, str]] = dict(options.devices) if options.devices else None
    times = placewright.benchmark(
        model,
        options.placement,
        (images, torch.randint(1000, (options.batch,))),
        steps=options.steps,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        trace=options.trace,
        devices=devices,
    )
    print(times)


if __name__ == "__main__":
    main()
