#!/usr/bin/python3
"""Runs the tests of the dashboard in a real browser: one Chromium and one server for all test_*.py of this folder.

    browser_tests.py [NAME...]      only the tests, or the files, of these names

Each test gets the lab (tests/scenario/harness.py) and an empty page. Whatever it does, it ends with no error on the
console and no request to another origin. When it fails, a picture of the page lies beside the log."""
import glob
import importlib
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "scenario")]

import browser  # noqa: E402
import harness  # noqa: E402
import stage  # noqa: E402


def collect(chosen):
    """(file, name, function) of every test, in the order in which they stand in the files."""
    tests = []
    for path in sorted(glob.glob(os.path.join(HERE, "test_*.py"))):
        module = os.path.basename(path)[:-3]
        for name, function in vars(importlib.import_module(module)).items():
            if name.startswith("test_") and (not chosen or name in chosen or module in chosen):
                tests.append((module, name, function))
    unknown = [c for c in chosen if not any(c in test[:2] for test in tests)]
    if unknown or not tests:
        sys.exit("browser_tests: no test %s" % ", ".join(unknown))
    return tests


def picture_path(name):
    folder = os.path.join(harness.BUILD, "tests", "web")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name + ".png")


def run(lab, chromium, name, function):
    """Whether it passed."""
    page = chromium.page(lab.url)
    try:
        function(lab, page)
        page.check()
        return True
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        traceback.print_exc(file=sys.stdout)
        try:
            page.screenshot(picture_path(name))
            print("picture: " + picture_path(name))
        except Exception as other:
            print("no picture: %s" % other)
        return False


def main():
    why = browser.missing()
    if why:
        harness.skip(why)
    tests = collect(sys.argv[1:])
    lab, chromium, failed = harness.Lab(), None, 0
    try:
        stage.start(lab)
        chromium = browser.Browser(lab.folder)
        print("Chromium " + chromium.version)
        for module, name, function in tests:
            begin = time.monotonic()
            passed = run(lab, chromium, name, function)
            failed += not passed
            print("%s: %s %s (%.1f s)" % ("ok" if passed else "FAILED", module, name, time.monotonic() - begin))
            sys.stdout.flush()
        if failed:
            print(lab.logs())
    finally:
        if chromium:
            chromium.close()
        lab.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
