"""Break metrics, calibration, influence and triage in small ways, and count how many of the breaks the tests notice.

Every mutant is one changed operator, number, argument or word (mutmut, set up in pyproject.toml). There are thousands,
so a random sample is drawn, the same for the same seed and the same code.

    python tests/tools/mutants.py                            # 400 of them, seed 0
    python tests/tools/mutants.py --sample 0                 # all; hours
    mutmut show NAME                                   # what a survivor changed
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NOTICED = ("killed", "timeout")
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


def share_fixtures(root: Path) -> None:
    """Let every test of a file with shared fixtures try what they call.

    Such a fixture runs inside the first test that wants it, and mutmut would try its mutants on that test alone.
    """
    path = root / "mutants" / "mutmut-stats.json"
    stats = json.loads(path.read_text(encoding="utf-8"))
    tests = stats["duration_by_test"]
    files = {name.split("::")[0] for name in tests}
    sharing = {file for file in files if 'scope="module"' in (root / file).read_text(encoding="utf-8")}
    for function, known in stats["tests_by_mangled_function_name"].items():
        touched = sharing & {name.split("::")[0] for name in known}
        stats["tests_by_mangled_function_name"][function] = sorted(
            {*known, *(name for name in tests if name.split("::")[0] in touched)}
        )
    path.write_text(json.dumps(stats), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Count how many small breaks the tests notice.")
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    from mutmut.stats import status_by_exit_code

    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTEST_PLUGINS": "mutmut_on_pytest_9",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])),
    }
    subprocess.run([sys.executable, "-c", GENERATE], cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=environment)
    every = results(ROOT)
    chosen = draw(list(every), given.sample, given.seed)
    mutmut = str(Path(sys.executable).with_name("mutmut"))
    run = [mutmut, "run", "--max-children", str(given.jobs)]
    subprocess.run([*run, chosen[0]], cwd=ROOT, check=False, env=environment)  # finds which tests call which function
    share_fixtures(ROOT)
    subprocess.run([*run, *chosen], cwd=ROOT, check=False, env=environment)
    after = results(ROOT)
    states = {name: status_by_exit_code[after[name]] for name in chosen}
    for name, state in states.items():
        if state not in NOTICED:
            print(f"{state}: {name}")
    noticed = sum(state in NOTICED for state in states.values())
    print(f"{noticed} of {len(chosen)} noticed ({noticed / len(chosen):.1%}), sampled from {len(every)}: ", end="")
    print(", ".join(f"{count} {state}" for state, count in sorted(Counter(states.values()).items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
