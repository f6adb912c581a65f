# SPDX-License-Identifier: MIT
"""Finds and runs placewright-cli."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from .errors import CommandLineError

_NAME = "placewright-cli"

#: Options of a command by their names in Python: {"in_flight": 2, "accumulate": True}.
Options = Mapping[str, Any]


def _checkouts() -> Iterator[Path]:
    """Yields the source folders of Placewright that this package is in or was installed from."""
    here = Path(__file__).resolve().parent
    yield here.parents[2]
    with contextlib.suppress(OSError):
        yield Path((here / "checkout.txt").read_text(encoding="utf-8").strip())


def find() -> Path:
    """Returns the path of placewright-cli: that of PLACEWRIGHT_CLI, else that in PATH, else the one that was
    built last in the folder `build` of Placewright's source.

    Raises:
        CommandLineError: there is none; says how to get it.
    """
    given = os.environ.get("PLACEWRIGHT_CLI")
    if given:
        found = shutil.which(given)
        if found is None:
            raise CommandLineError(f"PLACEWRIGHT_CLI is {given!r}, which is no program that can be run")
        return Path(found)
    found = shutil.which(_NAME)
    if found is not None:
        return Path(found)
    built = [
        file
        for source in _checkouts()
        if (source / "CMakePresets.json").is_file()
        for file in source.glob(f"build/*/bin/{_NAME}")
        if os.access(file, os.X_OK)
    ]
    if built:
        return max(built, key=lambda file: file.stat().st_mtime)
    raise CommandLineError(
        f"{_NAME} is missing: it is neither in PLACEWRIGHT_CLI nor in PATH nor in the folder build of"
        " Placewright's source. Install the package placewright, or build it (cmake --preset release;"
        f" cmake --build --preset release --target {_NAME}) and set PLACEWRIGHT_CLI to its path"
    )


def arguments_of(options: Options) -> List[str]:
    """Returns the arguments for options: ["--in-flight", "2", "--accumulate"]. None and False leave an option
    out; a list repeats it."""
    arguments: List[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is True:
                arguments.append(flag)
            elif item is not None and item is not False:
                arguments += [flag, str(item)]
    return arguments


def run(
    arguments: Sequence[Union[str, Path]], tick: Optional[Callable[[float], None]] = None, quiet: bool = False
) -> Dict[str, Any]:
    """Runs a command with --json and returns its result. Its warnings become Python's, of the line that called
    this package.

    An interrupt (Ctrl+C, a notebook's stop button) ends a search; the best that it found is then the result.

    Args:
        tick: called with the elapsed seconds, about five times a second.
        quiet: whether its warnings are dropped, because an earlier command gave them.

    Raises:
        CommandLineError: the program is missing or refuses the command.
    """
    command = [str(find()), *map(str, arguments), "--json"]
    # In a session of its own the program does not see Ctrl+C twice.
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
            # If this process is killed, the program ends, too.
            env={**os.environ, "PLACEWRIGHT_PARENT": str(os.getpid())},
        )
    except OSError as error:
        raise CommandLineError(f"{command[0]} cannot be run: {error.strerror or error}") from error
    try:
        output, messages = _wait(process, tick)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate()
        if not output.strip():
            raise
    except BaseException:
        process.kill()
        process.communicate()
        raise
    problems = []
    for line in messages.splitlines():
        text = line[len(_NAME) + 2 :] if line.startswith(_NAME + ": ") else line
        if text.startswith("warning: "):
            if not quiet:
                warnings.warn(text[len("warning: ") :], stacklevel=_frames_here())
        elif text.strip():
            problems.append(text)
    result = None
    with contextlib.suppress(ValueError):
        result = json.loads(output)
    if process.returncode not in (0, 130) or result is None:
        raise CommandLineError(
            "\n".join(problems) or f"{_NAME} {command[1]} ended with status {process.returncode}",
            process.returncode,
        )
    return dict(result)


def _frames_here() -> int:
    """Returns the stacklevel of the line that called this package, as warnings.warn counts it in the caller."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and Path(frame.f_code.co_filename).parent == Path(__file__).parent:
        frame, level = frame.f_back, level + 1
    return level


def _wait(process: "subprocess.Popen[str]", tick: Optional[Callable[[float], None]]) -> Any:
    start = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            if tick is not None:
                tick(time.monotonic() - start)


class Folder:
    """A folder that is removed with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="placewright-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@contextlib.contextmanager
def progress_bar(text: str, seconds: Optional[float], show: Optional[bool]) -> Iterator[Any]:
    """Context that gives a `tick` for `run`: it moves a bar of tqdm, if that is installed.

    Args:
        seconds: the whole length; None if that is not known.
        show: None: where a person watches (a terminal or a notebook).
    """
    tqdm = None
    if show is not False:
        with contextlib.suppress(ImportError):
            from tqdm.auto import tqdm  # type: ignore[import-not-found,import-untyped,no-redef,unused-ignore]
    if tqdm is None:
        yield None
        return
    form = "{desc}: {percentage:3.0f}%|{bar}| {n:.0f} of {total:.0f} s"
    if seconds is None:
        form = "{desc}: {elapsed}"
    # tqdm reads disable=None as: only on a terminal, which a notebook is not.
    in_notebook = any("notebook" in base.__module__ for base in tqdm.__mro__)
    hide = None if show is None and not in_notebook else False
    with tqdm(desc=text, total=seconds, bar_format=form, leave=False, disable=hide) as bar:

        def tick(elapsed: float) -> None:
            bar.n = elapsed if seconds is None else min(elapsed, seconds)
            bar.refresh()

        yield tick
