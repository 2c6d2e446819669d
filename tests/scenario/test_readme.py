#!/usr/bin/env python3
"""README.md's commands run, and print what README.md shows: the same fields, whatever their values."""
import os
import re

import harness
import readme


def keys(text):
    return set(re.findall(r'"([a-z_0-9]+)":', text))


def test_console_blocks(lab):
    readme.start(lab)
    with open(os.path.join(harness.SRC, "README.md")) as f:
        blocks = readme.BLOCK.findall(f.read())
    assert len(blocks) >= 3
    for block in blocks:
        parts = re.split(r"^\$ (.*)$", block, flags=re.M)[1:]
        for command, shown in zip(parts[::2], parts[1::2]):
            printed = readme.run(lab, command)
            assert keys(shown) == keys(printed), "%s\nREADME.md shows %s\nbut it prints %s" % (command, sorted(keys(shown)),
                                                                                           sorted(keys(printed)))
            assert bool(shown.strip()) == bool(printed.strip()), (command, shown, printed)


harness.main(globals())
