"""Keyed random streams (docs/algorithms.md), written a second time, for tests and benches. Standard library only."""
GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def mix64(z):
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 & MASK
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def key(seed, tag, a=0, b=0, c=0):
    h = mix64(seed + GOLDEN & MASK)
    for v in (tag, a, b, c):
        h = mix64((h ^ v) + GOLDEN & MASK)
    return h


def output(stream, i):
    """Output i = 0, 1, ... of a key."""
    return mix64(stream + (i + 1) * GOLDEN & MASK)
