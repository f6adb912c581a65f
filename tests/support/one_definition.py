#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""one_definition.py: finds types of one name that several files define in one namespace.

Such types break the rule of one definition: the linker keeps one destructor, one std::vector<Type>::push_back and so on
for all of them, and code that handles one type then reads the other. No compiler says so. Types of unnamed namespaces
are their file's own. Exits with 1 and a line for each name.
"""

import collections
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{$")
END = re.compile(r"^\}\s*// namespace")
TYPE = re.compile(r"^(?:struct|class|union|enum class|enum) (?:\[\[\w+\]\] )?(?:Q_\w+ )?(\w+)(?: final)?(?: :.*)?(?: \{.*)?$")


def definitions(file):
    """Names of the types that a file defines outside of unnamed namespaces."""
    namespaces = []
    for line in file.read_text().splitlines():
        if opened := NAMESPACE.match(line):
            namespaces.append(opened.group(1) or "")
        elif END.match(line):
            namespaces.pop()
        elif (found := TYPE.match(line)) and "" not in namespaces:
            yield "::".join([*namespaces, found.group(1)])


def main():
    files = collections.defaultdict(list)
    for folder in ("app", "core", "widgets", "tests"):
        for file in sorted((SOURCE / folder).rglob("*.[ch]pp")):
            for name in set(definitions(file)):
                files[name].append(str(file.relative_to(SOURCE)))
    clashes = {name: where for name, where in files.items() if len(where) > 1}
    for name, where in sorted(clashes.items()):
        print(f"{name} is defined in {', '.join(where)}")
    print(f"{len(files)} types, {len(clashes)} defined in several files")
    return 1 if clashes or not files else 0


if __name__ == "__main__":
    sys.exit(main())
