#!/usr/bin/env python3
"""Runs the fuzz targets of build/fuzz for some time, or keeps what they have learned; `./dev fuzz` builds them and calls this.

run.py BUILD --minutes N [TARGET...]   all targets share N minutes on all cores
run.py BUILD --keep [TARGET...]        BUILD/corpus and the seeds, minimised, become tests/fuzz/corpus"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(TOP, "tests", "fuzz", "corpus")
LIMITS = ["-malloc_limit_mb=512", "-rss_limit_mb=2048", "-timeout=20"]
MOST_CRASHES = 5  # of one target, then it is left alone
FOUND = "found-"  # a corpus file that once failed: kept whatever it covers


def targets_of(build):
    names = sorted(n for n in os.listdir(os.path.join(build, "tests", "bin")) if re.fullmatch(r"fuzz_[a-z_]+", n))
    return [n[len("fuzz_"):] for n in names]


def folders(build, target):
    """What a target learns from: its own folder first, which grows."""
    grown = os.path.join(build, "corpus", target)
    os.makedirs(grown, exist_ok=True)
    return [f for f in (grown, os.path.join(CORPUS, target), os.path.join(build, "seeds", target)) if os.path.isdir(f)]


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz(build, target, seconds):
    """One row of the table. A target that crashes goes on with the time that is left."""
    crashes = os.path.join(build, "crashes")
    os.makedirs(crashes, exist_ok=True)
    row = {"target": target, "executions": 0, "edges": 0, "new": 0, "crashes": 0, "seconds": 0.0}
    end = time.monotonic() + seconds
    while row["crashes"] < MOST_CRASHES and (left := int(end - time.monotonic())) > 0:
        start = time.monotonic()
        done = subprocess.run([os.path.join(build, "tests", "bin", "fuzz_" + target), f"-max_total_time={left}", *LIMITS,
                               f"-artifact_prefix={crashes}/{target}-", "-print_final_stats=1", *folders(build, target)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        row["seconds"] += time.monotonic() - start
        row["executions"] += number(r"stat::number_of_executed_units: (\d+)", done.stderr)
        row["new"] += number(r"stat::new_units_added: +(\d+)", done.stderr)
        row["edges"] = max(row["edges"], number(r"cov: (\d+)", done.stderr))
        if done.returncode == 0:
            break
        row["crashes"] += 1
        with open(os.path.join(crashes, f"{target}-{row['crashes']}.log"), "w", encoding="utf-8") as log:
            log.write(done.stderr)
    return row


def run_all(build, targets, minutes):
    cores = os.cpu_count() or 1
    seconds = max(2, minutes * 60 * cores / len(targets))
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        rows = list(pool.map(lambda t: fuzz(build, t, seconds), targets))
    print(f"{'target':<12} {'executions':>12} {'exec/s':>8} {'edges':>6} {'new units':>9} {'crashes':>7}")
    for r in rows:
        print(f"{r['target']:<12} {r['executions']:>12} {r['executions'] / max(r['seconds'], 1):>8.0f} {r['edges']:>6} "
              f"{r['new']:>9} {r['crashes']:>7}")
    crashed = sum(r["crashes"] for r in rows)
    if crashed:
        print(f"{crashed} crashes: the inputs and the logs are in {os.path.join(build, 'crashes')}; "
              f"build/tests/bin/fuzz_TARGET FILE replays one", file=sys.stderr)
    return 1 if crashed else 0


def keep(build, target):
    """Edges alone, without how often: a corpus that reaches as much in few files."""
    kept = os.path.join(CORPUS, target)
    os.makedirs(kept, exist_ok=True)
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([os.path.join(build, "tests", "bin", "fuzz_" + target), "-merge=1", "-use_counters=0", *LIMITS, out,
                        *reversed(folders(build, target))], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in os.listdir(kept):
            if not name.startswith(FOUND):
                os.remove(os.path.join(kept, name))
        for name in os.listdir(out):
            shutil.copyfile(os.path.join(out, name), os.path.join(kept, name[:12]))


def count_all():
    with open(os.path.join(CORPUS, "counts"), "w", encoding="ascii") as out:
        for target in sorted(os.listdir(CORPUS)):
            if os.path.isdir(os.path.join(CORPUS, target)):
                out.write(f"{target} {len(os.listdir(os.path.join(CORPUS, target)))}\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build")
    options.add_argument("--minutes", type=float)
    options.add_argument("--keep", action="store_true")
    options.add_argument("targets", nargs="*", metavar="TARGET")
    args = options.parse_args()
    build, known = os.path.abspath(args.build), targets_of(args.build)
    for target in args.targets:
        if target not in known:
            options.error(f"no target {target}; there are {', '.join(known)}")
    targets = args.targets or known
    if args.keep == (args.minutes is not None) or (args.minutes is not None and args.minutes <= 0):
        options.error("give --minutes N with N above 0, or --keep")
    subprocess.run([sys.executable, os.path.join(TOP, "tests", "fuzz", "seeds.py"), os.path.join(build, "seeds")], check=True)
    if not args.keep:
        return run_all(build, targets, args.minutes)
    for target in targets:
        keep(build, target)
    count_all()
    return 0


sys.exit(main())
