#!/usr/bin/env python3
"""What it costs to train with less memory, where the simulator says that overlap hides the traffic.

`third`: the resident plan, and the plan found for a third of its device memory, take turns. The loss is the ratio of the
medians of each pair. `drive`: the resident plan and one that keeps the optimizer's states on the SSD take turns; the bound
is the longer of the resident step and the step's SSD bytes over the rate at which this drive was probed to read and write at
once. Between two runs of a pair nothing else should run; all pairs are stored.

    bench/offload/measure_offload.py --program build/bin/plimsoll --output bench/results/offload.json
"""
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from plimsoll_runs import about, answer_of, option, parser_of, train

RESIDENT = {"name": "resident"}
ROOM = [*option("ram", "8GiB"), *option("ssd", "20GiB")]
DEVICE = option("device-memory", "6GiB")


def device_peak(answer):
    return next(space["measured_bytes"] for space in answer["memory"] if space["space"] == "gpu0")


def run(arguments, case, flags, strategy):
    return train(arguments.program, arguments.data, case, ROOM + flags, strategy, arguments.steps, arguments.warm_up_steps,
                 arguments.folder)


def third_of_memory(arguments, case):
    """Pairs of the resident plan and the one found for a third of its memory."""
    whole = run(arguments, case, DEVICE, RESIDENT)
    cap = device_peak(whole) // 3  # whole MiB of it are given
    pairs = []
    for _ in range(arguments.pairs):
        resident = run(arguments, case, DEVICE, RESIDENT)
        third = run(arguments, case, option("device-memory", f"{cap // 2**20}MiB"), case.get("strategy"))
        pairs.append({"resident_seconds": resident["step_seconds_median"], "third_seconds": third["step_seconds_median"],
                      "loss": third["step_seconds_median"] / resident["step_seconds_median"] - 1,
                      "predicted_loss": third["predicted_step_seconds"] / resident["predicted_step_seconds"] - 1})
        print(f"{case['model'][:60]:<60} predicted {pairs[-1]['predicted_loss']:+.1%} lost {pairs[-1]['loss']:+.1%}", flush=True)
    return {**case, "device_bytes": device_peak(whole), "cap_bytes": cap, "pairs": pairs,
            "predicted_loss": statistics.median(p["predicted_loss"] for p in pairs),
            "loss": statistics.median(p["loss"] for p in pairs)}


def mixed_rate(arguments):
    """Bytes a second of both directions at once, as the probe finds them."""
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        probe = pathlib.Path(folder) / "probe.json"
        answer_of([arguments.program, "machines", "--probe", "--json", *option("ssd-folder", arguments.folder),
                   *option("output", probe)])
        drive = json.loads(probe.read_text())["drive_bytes_per_second"]
    return drive["mixed_read"]["median"] + drive["mixed_write"]["median"]


def states_on_drive(arguments, case, rate):
    pairs = []
    for _ in range(arguments.pairs):
        resident = run(arguments, case, DEVICE, RESIDENT)
        drive = run(arguments, case, DEVICE, case["strategy"])
        transfer = drive["ssd_bytes"] / rate
        bound = max(resident["step_seconds_median"], transfer)
        pairs.append({"resident_seconds": resident["step_seconds_median"], "transfer_seconds": transfer,
                      "step_seconds": drive["step_seconds_median"], "predicted_seconds": drive["predicted_step_seconds"],
                      "over_bound": drive["step_seconds_median"] / bound - 1})
        print(f"{case['model'][:60]:<60} step {drive['step_seconds_median']:.3f} s, resident "
              f"{resident['step_seconds_median']:.3f} s, transfers {transfer:.3f} s: {pairs[-1]['over_bound']:+.1%}", flush=True)
    return {**case, "pairs": pairs, "over_bound": statistics.median(p["over_bound"] for p in pairs)}


def main():
    parser = parser_of(__doc__, pathlib.Path(__file__).parent / "cases.json")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up-steps", type=int, default=8)
    parser.add_argument("--parts", nargs="+", choices=["third", "drive"], default=["third", "drive"])
    arguments = parser.parse_args()
    cases = json.loads(pathlib.Path(arguments.cases).read_text())
    results = {**about(arguments.program), **{part: [] for part in arguments.parts}}
    if "drive" in arguments.parts:
        results["mixed_bytes_per_second"] = mixed_rate(arguments)
    for part in arguments.parts:
        for case in cases[part]:
            measured = (third_of_memory(arguments, case) if part == "third"
                        else states_on_drive(arguments, case, results["mixed_bytes_per_second"]))
            results[part].append(measured)
            pathlib.Path(arguments.output).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
