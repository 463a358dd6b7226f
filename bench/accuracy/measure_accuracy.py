#!/usr/bin/env python3
"""Holds predicted against measured step times of plans that the warm-up did not run, and stores every attempt.

Each comparison is one `plimsoll run`: some profiled steps of the cautious warm-up plan, the prediction of the plan from
them, then the measured steps (their median counts). A sentinel, always the same small plan, runs before and after it for
some seconds (on a virtual machine whose neighbours wake up, shorter ones differ by a tenth with nothing changed). If the
sentinel's medians differ by more than 3 % the machine changed meanwhile: the comparison is void and repeated. The drift of
the sentinels that were not void is the noise floor beside which the errors are to be read.

    bench/accuracy/measure_accuracy.py --program build/bin/plimsoll --output bench/results/accuracy.json
"""
import json
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from plimsoll_runs import about, option, parser_of, train

VOID_DRIFT = 0.03
SENTINEL = {"model": "gpt:layers=2,hidden=256,heads=4,vocab=256,positions=256", "batch": 4, "sequence": 256, "steps": 100}


ROOM = [*option("device-memory", "4GiB"), *option("ram", "6GiB"), *option("ssd", "20GiB")]


def run_plan(arguments, case, strategy, steps, warm_up):
    return train(arguments.program, arguments.data, case, ROOM, strategy, steps, warm_up, arguments.folder)


def run_sentinel(arguments):
    return run_plan(arguments, SENTINEL, {"name": "sentinel"}, SENTINEL["steps"], 0)["step_seconds_median"]


def attempt(arguments, case, strategy, before):
    """A comparison between two sentinels; returns it with the sentinel after it."""
    answer = run_plan(arguments, case, strategy, arguments.steps, arguments.warm_up_steps)
    after = run_sentinel(arguments)
    predicted, measured = answer["predicted_step_seconds"], answer["step_seconds_median"]
    drift = after / before - 1
    return {**case, "strategy": strategy, "predicted_seconds": predicted, "measured_seconds": measured,
            "error": predicted / measured - 1, "sentinel_seconds": [before, after], "sentinel_drift": drift,
            "void": abs(drift) > VOID_DRIFT}, after


def compare_all(arguments, cases, store):
    attempts = []
    sentinel = run_sentinel(arguments)
    for strategy in cases["strategies"]:
        for case in cases["models"]:
            for _ in range(arguments.attempts):
                result, sentinel = attempt(arguments, case, strategy, sentinel)
                attempts.append(result)
                store(attempts)
                print(line_of(result), flush=True)
                if not result["void"]:
                    break
    return attempts


def line_of(result):
    predicted, measured = result["predicted_seconds"] * 1e3, result["measured_seconds"] * 1e3
    error, drift = result["error"] * 100, result["sentinel_drift"] * 100
    return (f"{result['model'][:44]:<44} {result['strategy']['name']:<34} {predicted:9.2f} {measured:9.2f} ms {error:+6.1f} %"
            f"  sentinel {drift:+5.1f} %{'  void' if result['void'] else ''}")


def error_statistics(attempts):
    errors = sorted(abs(a["error"]) for a in attempts)
    return {"attempts": len(attempts), "median_error": statistics.median(errors), "worst_error": errors[-1],
            "bias": statistics.median(a["error"] for a in attempts)} if attempts else {"attempts": 0}


def summarize(attempts):
    """Of the comparisons that count; by plan; and of all attempts, void ones too, so that nothing is hidden."""
    valid = [a for a in attempts if not a["void"]]
    plans = {a["strategy"]["name"]: [] for a in attempts}
    for a in valid:
        plans[a["strategy"]["name"]].append(abs(a["error"]))
    return {"valid": error_statistics(valid), "all": error_statistics(attempts),
            "median_error_by_plan": {name: statistics.median(errors) if errors else None for name, errors in plans.items()},
            "noise_floor": statistics.median(abs(a["sentinel_drift"]) for a in valid) if valid else None}


def main():
    parser = parser_of(__doc__, pathlib.Path(__file__).parent / "cases.json")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--warm-up-steps", type=int, default=12)
    parser.add_argument("--attempts", type=int, default=5, help="how often a void comparison is tried")
    arguments = parser.parse_args()
    protocol = {**about(arguments.program), "measured_steps": arguments.steps, "warm_up_steps": arguments.warm_up_steps,
                "void_above_sentinel_drift": VOID_DRIFT}

    def store(attempts):
        text = json.dumps({**protocol, "summary": summarize(attempts), "attempts": attempts}, indent=1)
        pathlib.Path(arguments.output).write_text(text + "\n")

    print("predicted, measured, error; drift of the sentinel", flush=True)
    attempts = compare_all(arguments, json.loads(pathlib.Path(arguments.cases).read_text()), store)
    print(summarize(attempts))


if __name__ == "__main__":
    main()
