"""Break metrics, calibration, detectors, influence and decisions in small ways, and count how many of the breaks the tests notice.

Every mutant is one changed operator, number, argument or word (mutmut, set up in pyproject.toml). There are thousands,
so of each package that pyproject.toml names a random sample is drawn, the same for the same seed and the same code.
A mutant meets the tests of its own package first, and every test that calls it where those did not notice.

    python tests/tools/mutants.py                      # 100 of each package, seed 0; goes on where an earlier run stopped
    python tests/tools/mutants.py --package metrics --sample 0   # all of one package
    python tests/tools/mutants.py --again              # once more what no test noticed, after one was written
    mutmut show NAME                                   # what a survivor changed
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NOTICED = ("killed", "timeout")
SURVIVED = 0
STATS = Path("mutants", "mutmut-stats.json")
EXAMPLES = "tests/tools/docstring_examples.py"
EVERY = Path("mutants", "every-test.json")
GENERATE = """
from mutmut import __main__ as mutmut
mutmut.set_mutant_under_test("mutant_generation")
mutmut.makedirs("mutants", exist_ok=True)
mutmut.copy_src_dir()
mutmut.copy_also_copy_files()
mutmut.setup_source_paths()
mutmut.create_mutants(2)
"""


def results(root: Path) -> dict[str, int | None]:
    """Every mutant by name, with the exit status of its tests; None: not tried."""
    found: dict[str, int | None] = {}
    for path in sorted((root / "mutants").rglob("*.meta")):
        found |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def draw(names: list[str], size: int, seed: int) -> list[str]:
    """A sample without replacement; all of them where size is 0 or larger than their number."""
    return sorted(random.Random(seed).sample(sorted(names), size)) if 0 < size < len(names) else sorted(names)


def packages(root: Path) -> list[str]:
    """What pyproject.toml lets mutmut break, innermost first: `detectors.networks.influence`, then `detectors`."""
    patterns = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]["only_mutate"]
    names = [pattern.removeprefix("src/calirare/").removesuffix("/*").replace("/", ".") for pattern in patterns]
    return sorted(names, key=len, reverse=True)


def package_of(name: str, known: list[str]) -> str:
    """The innermost package that holds a mutant, or the function it was made from."""
    return next(package for package in known if name.startswith(f"calirare.{package}."))


def share_fixtures(root: Path) -> None:
    """Let every test of a file with shared fixtures, or with helpers that remember, try what they call.

    Such a fixture runs inside the first test that wants it, and mutmut would try its mutants on that test alone.
    """
    path = root / STATS
    stats = json.loads(path.read_text(encoding="utf-8"))
    tests = stats["duration_by_test"]
    files = {name.split("::")[0] for name in tests}
    texts = {file: (root / file).read_text(encoding="utf-8") for file in files}
    sharing = {file for file, text in texts.items() if 'scope="module"' in text or "@cache" in text}
    for function, known in stats["tests_by_mangled_function_name"].items():
        touched = sharing & {name.split("::")[0] for name in known}
        stats["tests_by_mangled_function_name"][function] = sorted(
            {*known, *(name for name in tests if name.split("::")[0] in touched)}
        )
    path.write_text(json.dumps(stats), encoding="utf-8")


def own_tests(root: Path, known: list[str]) -> None:
    """Try each mutant on the tests of its own package alone, where it has some."""
    path = root / STATS
    stats = json.loads(path.read_text(encoding="utf-8"))
    for function, tests in stats["tests_by_mangled_function_name"].items():
        package = package_of(function, known)
        homes = f"tests/{package.replace('.', '/')}/", f"{EXAMPLES}::test_example[calirare.{package}."
        own = [test for test in tests if test.startswith(homes)]
        stats["tests_by_mangled_function_name"][function] = own or tests
    path.write_text(json.dumps(stats), encoding="utf-8")


def try_out(names: list[str], root: Path, known: list[str], run: Callable[[list[str]], None]) -> None:
    """Run the tests on these mutants: first their own, then all for those that came through."""
    every, narrow = root / EVERY, root / STATS
    if every.exists():
        shutil.copy(every, narrow)  # an interrupted run left the narrow ones
    if not every.exists() or any(
        file.stat().st_mtime > every.stat().st_mtime for file in (root / "tests").rglob("*.py")
    ):
        run(names[:1])  # finds which tests call which function
        share_fixtures(root)
        shutil.copy(narrow, every)
    own_tests(root, known)
    run(names)
    shutil.copy(every, narrow)
    left = [name for name, code in results(root).items() if name in set(names) and code == SURVIVED]
    if left:
        run(left)


def tell(states: dict[str, str], known: list[str], total: int) -> None:
    """Survivors by name, then the score of each package and of all."""
    for name, state in sorted(states.items()):
        if state not in NOTICED:
            print(f"{state}: {name}")
    for package in [*sorted(known), ""]:
        found = Counter(state for name, state in states.items() if not package or package_of(name, known) == package)
        if found:
            noticed, tried = sum(found[state] for state in NOTICED), found.total()
            kinds = ", ".join(f"{count} {state}" for state, count in sorted(found.items()))
            of = "" if package else f", sampled from {total}"
            print(f"{package or 'all'}: {noticed} of {tried} noticed ({noticed / tried:.1%}){of}: {kinds}")


def main(arguments: list[str] | None = None) -> int:
    known = packages(ROOT)
    parser = argparse.ArgumentParser(description="Count how many small breaks the tests notice.")
    parser.add_argument("--sample", type=int, default=100, help="of each package; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", choices=known, action="append", help="this one alone; may be given again")
    parser.add_argument("--again", action="store_true", help="try once more what no test noticed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    from mutmut.stats import status_by_exit_code

    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTEST_PLUGINS": "mutmut_on_pytest_9",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])),
    }
    subprocess.run([sys.executable, "-c", GENERATE], cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=environment)
    before = results(ROOT)
    chosen = []
    for package in given.package or known:
        chosen += draw([name for name in before if package_of(name, known) == package], given.sample, given.seed)
    mutmut = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", str(given.jobs)]
    todo = [
        name
        for name in chosen
        if before[name] is None or (given.again and status_by_exit_code[before[name]] not in NOTICED)
    ]
    if todo:
        try_out(
            todo, ROOT, known, lambda names: subprocess.run([*mutmut, *names], cwd=ROOT, check=False, env=environment)
        )
    after = results(ROOT)
    tell({name: status_by_exit_code[after[name]] for name in chosen}, known, len(after))
    return 0


if __name__ == "__main__":
    sys.exit(main())
