#!/usr/bin/env python3
"""README.md's commands run, and print what README.md shows: the same fields, whatever their values; its pictures are there."""
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


def pictures_in(text):
    return set(re.findall(r'(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)', text))


def test_pictures(lab):
    """Each page's pictures are there, light and dark; docs/dashboard/README.md shows all that ./dev docs takes."""
    for page in ("README.md", "docs/dashboard/README.md", "docs/paper/README.md"):
        with open(os.path.join(harness.SRC, page)) as f:
            text = f.read()
        shown = {"".join(found) for found in pictures_in(text)}
        assert len(shown) >= 4, (page, shown)
        folder = os.path.join(harness.SRC, os.path.dirname(page))
        for name in shown:
            assert os.path.getsize(os.path.join(folder, name)) > 1000, (page, name)
            assert name.replace("-light.", "-dark.") in shown, (page, name)
        if page.startswith("docs/dashboard"):
            there = {name for name in os.listdir(folder) if name.endswith(".png")}
            assert there == shown, (page, there ^ shown)
            assert sum(os.path.getsize(os.path.join(folder, name)) for name in there) < 2.5e6


harness.main(globals())
