#!/usr/bin/env bash
# Bubbles of pipelines on 2 to 4 ranks, simulated and measured: kernels as timed waits, then real compute. Prints CSV.
# Usage: bench/ranks/bubbles.sh [FACTOR [ROWS]] (default 100: kernels wait 100 times their expected time; ROWS: a regular expression
# of the rows that are wanted, by their first columns as in waits,4,1,dualpipe-v)
set -euo pipefail
cd "$(dirname "$0")/../.."
factor="${1:-100}"
wanted="${2:-.}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
model=gpt:layers=8,hidden=64,heads=4,vocab=256,positions=64
batch=2 sequence=64
echo "kernels,ranks,replicas,schedule,micro_batches,predicted_bubble,measured_bubble,predicted_step_seconds,measured_step_seconds"
row() {  # kernels ranks replicas schedule micro-batches options…
  local kernels="$1" pipeline="$2" replicas="$3" schedule="$4" count="$5"
  shift 5
  local name="$schedule"
  case "$schedule $*" in
    *--stage-blocks*) name="pipedream-blocks-${*: -1}" name="${name//,/-}" ;;  # the last word
    *--vertical-sync*) name=pipedream-vertical-sync ;;
    2bw*--clip\ 0*) ;;
    2bw*) name=2bw-clipped ;;
  esac
  local ranks spread=(--pp "$pipeline")
  if [[ "$replicas" == *-* ]]; then  # of each stage
    ranks=$((${replicas//-/+})) spread+=(--stage-replicas "${replicas//-/,}")
  else
    ranks=$((pipeline * replicas)) spread+=(--dp "$replicas")
  fi
  case "$*" in
    *--sequence-parallel*) name=tp-2-by-rows ranks=$((2 * ranks)) ;;
    *--tp\ 2*) name=tp-2 ranks=$((2 * ranks)) ;;
    *--cp\ 2*) name=cp-2-of-$sequence ranks=$((2 * ranks)) ;;
  esac
  [[ "$kernels,$pipeline,$replicas,$name,$count" =~ $wanted ]] || return 0
  mpirun --oversubscribe --allow-run-as-root -n "$ranks" build/bin/plimsoll run "$model" --data data/texts/us-constitution.txt \
    --batch "$batch" --seq "$sequence" --cpu-cores 1 --device-memory 256MiB --ram 256MiB "${spread[@]}" --schedule "$schedule" \
    --micro-batches "$count" --json -q -o "$folder/run.plimsoll" --force "$@" > "$folder/answer.json"
  python3 - "$folder/answer.json" "$kernels,$pipeline,$replicas,$name,$count" <<'PY'
import json, sys
a = json.load(open(sys.argv[1]))
print(f"{sys.argv[2]},{a['predicted_bubble_fraction']:.4f},{a['bubble_fraction']:.4f},{a['predicted_step_seconds']:.6f},{a['step_seconds_median']:.6f}")
PY
}
for schedule in gpipe 1f1b interleaved zb-h1 dualpipe-v; do
  row waits 2 1 "$schedule" 4 --timed-waits "$factor" --steps 4
  row waits 4 1 "$schedule" 8 --timed-waits "$factor" --steps 4
done
row waits 2 2 1f1b 4 --timed-waits "$factor" --steps 4
for ranks in 2 4; do  # without a flush: enough steps that the first ones, which fill the pipeline, count little
  row waits "$ranks" 1 pipedream 1 --timed-waits "$factor" --steps $((8 + 4 * ranks))
  row waits "$ranks" 1 pipedream 1 --timed-waits "$factor" --steps $((8 + 4 * ranks)) --vertical-sync
  row waits "$ranks" 1 2bw "$((2 * ranks))" --timed-waits "$factor" --steps 6 --clip 0
  row waits "$ranks" 1 2bw "$((2 * ranks))" --timed-waits "$factor" --steps 6
done
row waits 2 2 pipedream 1 --timed-waits "$factor" --steps 16  # replicated stages: round-robin
model=gpt:layers=6,hidden=64,heads=4,vocab=256,positions=64,tied=false
for replicas in 2-1 1-2 3-1 2-1-1; do  # stages of different numbers of ranks
  stages="${replicas//[^-]/}"
  row waits "$((${#stages} + 1))" "$replicas" pipedream 1 --timed-waits "$factor" --steps 12
done
row waits 2 2-1 pipedream 1 --timed-waits "$factor" --steps 12 --stage-blocks 4,2  # as many blocks a rank
row waits 2 1-2 pipedream 1 --timed-waits "$factor" --steps 12 --stage-blocks 2,4
model=gpt:layers=8,hidden=64,heads=4,vocab=256,positions=64,tied=false
row waits 2 3-1 pipedream 1 --timed-waits "$factor" --steps 12 --stage-blocks 6,2
row waits 3 2-1-1 pipedream 1 --timed-waits "$factor" --steps 12 --stage-blocks 4,2,2
model=gpt:layers=8,hidden=64,heads=4,vocab=256,positions=64
for schedule in gpipe 1f1b interleaved zb-h1 dualpipe-v; do row compute 2 1 "$schedule" 4 --steps 20; done
row compute 2 2 1f1b 4 --steps 20
# Ranks that share layers, rows, or sequences: no pipeline, and messages decide
model=gpt:layers=4,hidden=256,heads=4,vocab=256,positions=128 batch=4 sequence=128
row compute 1 1 1f1b 1 --tp 2 --steps 40
row compute 1 1 1f1b 1 --tp 2 --sequence-parallel --steps 40
model=gpt:layers=4,hidden=256,heads=4,vocab=256,positions=512 batch=2 sequence=512
row compute 1 1 1f1b 1 --cp 2 --steps 24
model=gpt:layers=2,hidden=128,heads=4,vocab=256,positions=256 batch=2 sequence=256
row compute 1 1 1f1b 1 --cp 2 --steps 60
