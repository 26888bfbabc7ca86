#!/usr/bin/env bash
# Runs the benches and prints each figure: name, value, unit, and where there is one, the bar of the
# design and whether it was met. Exit 1 when something was wrong (a missed bar is no such thing).
#
#   tests/benches/run.sh            all
#   tests/benches/run.sh warm dry   only these; see tests/benches/main.rs
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
[ -n "${WITH_ENGINE:-}" ] || exec deploy/with-engine.sh "$PWD/tests/benches/run.sh" "$@"

sandbox-images/build.sh || exit
deploy/model.sh || exit
cargo build --release --quiet --bin switchboard --example orders || exit

# The memory is measured beside chromadb, where it can be had; MEMORY_PEER="" leaves it out.
if [ -z "${MEMORY_PEER+set}" ] && [[ $# -eq 0 || " $* " == *" memory "* ]]; then
    peer=$PWD/target/memory-peer
    [ -x "$peer/bin/python" ] || python3 -m venv "$peer"
    if "$peer/bin/pip" install --quiet --requirement tests/benches/memory/requirements.txt; then
        export MEMORY_PEER=$peer/bin/python
    else
        echo "run.sh: without chromadb" >&2
    fi
fi
[ -n "${MEMORY_PEER:-}" ] || unset MEMORY_PEER

# The least or the most that a figure may be.
bars='
dry.validate.added_p99        <  0.5
dry.schema_refused.added_p99  <  0.5
dry.policy_denied.added_p99   <  0.5
dry.cache_hit.added_p99       <  0.5
dry.validate.rate             >= 2900
dry.schema_refused.rate       >= 2900
dry.policy_denied.rate        >= 2900
dry.cache_hit.rate            >= 2900
dry.resident_after            <  30
check.typical.p50             <  20
dialects.back.openai_strict.times >= 10
dialects.list.gemini.times    >= 3
policy.hundred.p50            <  30
policy.check.p50              <  2000
ledger.record.p50             <  0.12
ledger.verify.rate            >= 200000
import.p50                    <  2000
import.peak                   <  300
import.start_cached           <  300
import_many.p50               <  8000
import_many.peak              <  900
search.p50                    <  5
embed.question.p50            <  8
embed.import.rate             >= 300
memory.tenant.p95             <  10
memory.narrow.p95             <  10
memory.tenant.layers.p95      <  10
memory.narrow.layers.p95      <  10
memory.tenant.overlap         >= 0.99
memory.narrow.overlap         >= 0.99
memory.tenant.times           >= 10
memory.narrow.times           >= 10
memory.import.rate            >= 10000
memory.service.import.rate    >= 10000
memory.start                  <  2000
memory.service.start          <  2000
memory_million.tenant.p95     <  40
memory_million.narrow.p95     <  40
memory_million.tenant.layers.p95 < 40
memory_million.narrow.layers.p95 < 40
memory_million.peak           <  3072
reason.step.p50               <  3
reason.crowd.p95              <  400
reason.crowd.peak             <  200
reason.resume.most            <  1000
worker.rate                   >= 1000
worker.p99                    <  20
warm.p50                      <  5
warm.p99                      <  20
warm.ratio                    >= 30
pool.half.hit                 >= 99
pool.half.p50                 <  5
pool.half.p99                 <  20
sustained.ratio               >= 90
overshoot.spin.p99            <  50
overshoot.threads.p99         <  50
overshoot.deaf.p99            <  50
overshoot.stopped_group.p99   <  50
overshoot.stopped_runner.p99  <  50
flood.yes.growth              <  8
flood.stderr.growth           <  8
flood.one_line.growth         <  8
start.serving                 <  1000
start.binary                  <  40
faults.took                   <  300
faults.differences            <= 0
'

cargo bench --quiet --bench bars -- "$@" | awk -F '\t' -v bars="$bars" '
    BEGIN {
        lines = split(bars, line, "\n")
        for (i = 1; i <= lines; i++)
            if (split(line[i], part, " +") == 3) { how[part[1]] = part[2]; bar[part[1]] = part[3] }
    }
    function met(value, how, bar) {
        return how == ">=" ? value >= bar : how == "<=" ? value <= bar : value < bar
    }
    {
        verdict = ""
        if ($1 in bar) {
            ok = met($2 + 0, how[$1], bar[$1] + 0)
            verdict = how[$1] " " bar[$1] "  " (ok ? "met" : "MISSED")
            ok ? reached++ : missed++
        }
        printf "%-40s %12s %-18s %s\n", $1, $2, $3, verdict
        fflush()
    }
    END { printf "bars: %d met, %d missed\n", reached, missed }
'
exit "${PIPESTATUS[0]}"
