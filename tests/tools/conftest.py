"""The programs that judge dependencies and tests lie beside their own tests; pytest runs the tests alone."""

collect_ignore = ["audit.py", "mutants.py", "mutmut_on_pytest_9.py"]
