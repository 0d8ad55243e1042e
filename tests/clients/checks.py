"""Runs the checks of a client script, one function for each."""

import sys
import traceback


def run(title, client, scope):
    """Calls every function of `scope` whose name begins with `check_` with the client, and exits.

    Prints the names of failed checks with their tracebacks. The exit status is 1 if any check failed.
    """
    checks = [check for name, check in scope.items() if name.startswith("check_")]
    failed = []
    for check in checks:
        try:
            check(client)
        except Exception:
            failed.append(check.__name__)
            print(f"--- {check.__name__}")
            traceback.print_exc(file=sys.stdout)
    print(f"{title}: {len(checks) - len(failed)} checks passed, failed: {', '.join(failed) or 'none'}")
    sys.exit(1 if failed else 0)
