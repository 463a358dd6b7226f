"""Published figures of offload systems beside what the simulator says of our plan with the same choices.

    python3 bench/offload/compare_published.py --output bench/results/offload_published.json

Each case of published_cases.json states a strategy, a shape, a batch and a machine by the options of `plimsoll fit`, and one
published figure with what it counts. TFLOP/s are counted as the source counts them: `flops_per_parameter` times parameters
times tokens (6: model arithmetic; 8: with recomputation). `plimsoll` plans are not the original software: attention is fused,
and gradients travel in the type in which they are computed."""
import argparse
import json
import pathlib
import subprocess
import sys


def answer_of(program, case):
    command = [program, "fit", case["model"], "--strategy", case["strategy"], "--json"] + case["options"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout), " ".join(command[1:])


def predicted(case, answer):
    step = answer["step_seconds"]
    if case["metric"] == "tflops":
        tokens = answer["tokens_per_second"] * step
        return case["flops_per_parameter"] * answer["model"]["parameters"] * tokens / step * 1e-12
    if case["metric"] == "tokens_per_second":
        return answer["tokens_per_second"]
    if case["metric"] == "step_seconds":
        return step
    if case["metric"] == "after_backward_seconds":
        return answer["phases"]["optimizer_seconds"] + answer["phases"]["exposed_transfer_seconds"]
    sys.exit(f"unknown metric {case['metric']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--cases", default=pathlib.Path(__file__).with_name("published_cases.json"))
    parser.add_argument("--output")
    arguments = parser.parse_args()
    lines = []
    for case in json.loads(pathlib.Path(arguments.cases).read_text())["cases"]:
        answer, command = answer_of(arguments.program, case)
        value = predicted(case, answer)
        lines.append({"row": case["row"], "case": case["case"], "metric": case["metric"], "published": case["published"],
                      "predicted": round(value, 3), "error": round(value / case["published"] - 1, 4),
                      "fits": answer["verdict"] == "fits", "limit": answer["bottleneck"]["resource"], "command": command})
    lines.sort(key=lambda line: -abs(line["error"]))
    for line in lines:
        print(f"{line['row']} {line['case']:<46}{line['published']:>10.2f}{line['predicted']:>10.2f} {line['error']:>+8.1%} "
              f"{'fits' if line['fits'] else 'does not fit':<13}{line['limit']}")
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps({"cases": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
