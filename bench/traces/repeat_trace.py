"""A trace of any size: the events of a real one over and over, each time later and with correlations of its own.

    python3 bench/traces/repeat_trace.py trace.json.gz --bytes 2e9 -o long.json

What is written is what `/usr/bin/time -v plimsoll import long.json` is timed with. Python's standard library alone; nothing is kept but one round."""
import argparse
import gzip
import json


def shifted(event, microseconds, correlations):
    event = dict(event)
    if "ts" in event:
        event["ts"] = round(event["ts"] + microseconds, 3)
    for place in (event, event.get("args", {})):
        for key in ("correlation", "External id", "wait_on_cuda_event_record_corr_id"):
            if isinstance(place.get(key), int) and place[key] > 0:
                if place is not event:
                    event["args"] = place = dict(place)
                place[key] += correlations
    return event


def largest(events, key):
    return max((e["args"].get(key, 0) for e in events if isinstance(e.get("args", {}).get(key), int)), default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--bytes", type=float, default=2e9)
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    opener = gzip.open if options.trace.endswith(".gz") else open
    with opener(options.trace, "rt") as file:
        trace = json.load(file)
    events = trace.pop("traceEvents")
    timed = [e for e in events if e.get("ph") == "X"]
    start = min(e["ts"] for e in timed)
    span = max(e["ts"] + e.get("dur", 0) for e in timed) - start + 1000
    step = max(largest(events, "correlation"), largest(events, "External id")) + 1
    written, rounds = 0, 0
    with open(options.output, "w") as out:
        out.write(json.dumps(trace)[:-1] + ', "traceEvents": [')
        while written < options.bytes:
            text = ",\n".join(json.dumps(shifted(e, rounds * span, rounds * step)) for e in events if rounds == 0 or e.get("ph") != "M")
            written += out.write((",\n" if rounds else "\n") + text)
            rounds += 1
        out.write("\n]}\n")
    print(f"{rounds} rounds of {len(events)} events, {written} bytes")


if __name__ == "__main__":
    main()
