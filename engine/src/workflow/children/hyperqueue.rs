//! Tasks of a HyperQueue array (It4innovations; `hq submit` as its manual of version 0.20 and later describes it).
//!
//! One script submits the tasks and is what each of them runs: `sh SCRIPT` submits all, `sh SCRIPT 2,5` these, and a worker calls `sh SCRIPT task` with
//! HQ_TASK_ID. HyperQueue starts a task again whose worker is lost, and the run goes on from its checkpoint. It does not start one again that ends with
//! an error, so a task that has written its checkpoint because its time is over (exit status 4) submits itself. Tasks of one array know nothing of each
//! other; what comes after a stage is begun by whichever of them finds all runs finished.

use super::array::{TaskArray, Tasks};
use crate::invocation::quoted;
use crate::output::files::SAME;

/// Minutes that a worker must have left if a task is to start on it; less where tasks are shorter.
const LEAST: f64 = 10.0;

/// How often a task may be started again whose worker was lost: as good as always, since a worker that ends with its allocation is no fault of the task.
const LOST: u32 = 1000;

impl TaskArray<'_> {
    /// The script that submits the tasks, and runs one.
    pub(super) fn hyperqueue(&self, tasks: &Tasks) -> String {
        let Tasks { list, count, on_gpu, what } = tasks;
        let gpu = if *on_gpu { " --resource gpus/nvidia=1" } else { "" };
        let minutes = self.queue.max_hours.map_or(LEAST, |hours| (60.0 * hours).floor().clamp(1.0, LEAST));
        let limit = self.queue.max_hours.map_or(String::new(), |hours| format!(" --max-hours {hours}"));
        // A GPU that was not asked for belongs to other tasks.
        let device = if *on_gpu { self.device().to_string() } else { "cpu".into() };
        format!(
            r#"#!/bin/sh
# Tasks of HyperQueue. Where its server runs, and the folders below are those of the workers:
#   sh THIS_FILE        submits all tasks; sh THIS_FILE 2,5 these
# {what} A task whose time is over (exit status 4) has written its checkpoint and submits itself again; one whose worker is lost is
# started again by HyperQueue. The last one to end {then}.
set -eu
folder={folder}
jobs={list}
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
if [ ! -f "$self" ]; then
    echo "this script must be a file, which tasks call: save it, then sh FILE" >&2
    exit 2
fi
if [ "${{1:-}}" != task ]; then
    if [ $# = 0 ]; then
        rm -rf "$folder/.last"
    fi
    exec hq submit --name={name} --array="${{1:-1-{count}}}" --cpus={threads}{gpu} --time-request="{minutes}min" --crash-limit={LOST} \
        --stdout="$folder/hq-%{{TASK_ID}}.out" --stderr="$folder/hq-%{{TASK_ID}}.err" -- sh "$self" task
fi
set --
while IFS= read -r job; do
    set -- "$@" "$job"
done <<JOBS
$(awk -v task="$HQ_TASK_ID" 'NR % {count} == task % {count}' "$jobs")
JOBS
status=0
{executable} run --quiet --device {device} --threads {threads}{limit} "$@" || status=$?
if [ "$status" = 4 ]; then
    exec sh "$self" "$HQ_TASK_ID"
fi
if [ "$status" != 0 ]; then
    exit "$status"
fi
# The title of final.gro ends with the time of its run, which is an earlier one where a run is made longer.
while IFS= read -r job; do
    if ! awk -v end={length} 'NR == 1 {{ done = $NF + {SAME} > end }} END {{ exit !done }}' "$(dirname "$job")/final.gro" 2>/dev/null; then
        exit 0
    fi
done <"$jobs"
# Of tasks that end at once one is the last.
if ! mkdir "$folder/.last" 2>/dev/null; then
    exit 0
fi
trap 'rmdir "$folder/.last"' EXIT
{next}"#,
            name = self.name,
            length = self.length,
            threads = self.queue.threads,
            folder = quoted(&self.folder.display().to_string()),
            list = quoted(&list.display().to_string()),
            executable = quoted(&self.queue.executable.display().to_string()),
            then = if self.staged { "submits the next stage, or evaluates the last one" } else { "evaluates them" },
            next = self.next(),
        )
    }

    /// What the last task does.
    fn next(&self) -> String {
        let within = self.queue.within;
        if !self.staged {
            return format!("{within} --quiet\n");
        }
        let again = self.queue.again;
        format!(
            "if {again} --hyperqueue >\"$folder/.next\" 2>/dev/null; then\n    mv \"$folder/.next\" \"$folder/.next.sh\"\n    sh \"$folder/.next.sh\"\n\
             else\n    {within} --quiet\nfi\n"
        )
    }
}

#[cfg(test)]
mod tests;
