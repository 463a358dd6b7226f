"""A Perfetto trace that we write says, field by field, what the CSV of the same run says; read by Perfetto's own schema."""
import csv

from support import FOLDER, equal, need, plimsoll, skip

need("google.protobuf")
try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
except ImportError:
    skip("the package perfetto is not installed here")

SHAPE = "gpt:layers=2,hidden=64,heads=4,vocab=256,positions=64"
plimsoll("plan", SHAPE, "--on", "RTX 3090", "--ram", "64GiB", "--strategy", "zero-offload", "--timeline", "run.plimsoll", "-o", "plan.json")
plimsoll("export", "run.plimsoll", "--perfetto", "trace.pftrace", "--csv", "trace.csv")
trace = Trace()
trace.ParseFromString((FOLDER / "trace.pftrace").read_bytes())

tracks, begun, slices, flows, ended = {}, {}, [], {}, set()
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    assert event.track_uuid in tracks, "an event on no track"
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert event.track_uuid not in begun, "slices of one track overlap"
        begun[event.track_uuid] = (packet.timestamp, event)
        for flow in event.flow_ids:
            flows[flow] = event
        for flow in event.terminating_flow_ids:
            ended.add(flow)
    elif event.type == TrackEvent.TYPE_SLICE_END:
        start, first = begun.pop(event.track_uuid)
        slices.append((start, packet.timestamp, first, tracks[event.track_uuid].name))
equal("slices left open", begun, {})
equal("flows", set(flows), ended)
assert ended, "no flow at all"

rows = [row for row in csv.DictReader((FOLDER / "trace.csv").read_text().splitlines()) if row["kind"] != "marker"]
told = sorted((start, end, event.name, track) for start, end, event, track in slices if track != "steps")
expected = sorted((int(r["start_ns"]), int(r["end_ns"]), r["name"], r["queue"] + (f" #{int(r['lane']) + 1}" if int(r["lane"]) else "")) for r in rows)
equal("slices", len(told), len(expected))
equal("slices", told, expected)
print("Perfetto's schema reads", len(told), "slices and", len(ended), "flows")
