#!/usr/bin/env python3
"""Servers and commands that die at their writes: updates in pieces go on, a backup is whole or has no name, a restore begins
anew, a compacting changes nothing. Here at some of the writes, in `./dev bench crash` at all."""
import crash_commands
import harness


def test_commands(lab):
    sweep = crash_commands.Sweep(lab, 1 if harness.FULL else 71)
    sweep.prepare()
    for part in (sweep.backups, sweep.restores, sweep.compactings, sweep.servers):
        part()
    print(dict(sweep.counts))
    assert min(sweep.counts.values()) >= 5 and len(sweep.counts) == 4, sweep.counts


def test_pieces(lab):
    pieces = crash_commands.Pieces(lab, 1 if harness.FULL else 9)
    pieces.go()
    print(dict(pieces.counts), pieces.acknowledged)
    assert sum(pieces.counts.values()) > 20 and pieces.acknowledged > 20, pieces.counts


harness.main(globals())
