package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// idleWaits are the waits of threads that a language's runtime has no work for. A stack has
// one if a function's name starts with function and that of the function it calls with calls.
//
// The functions are Go's (runtime/proc.go, os/signal; findrunnable until Go 1.18), HotSpot's
// as of JDK 17 (src/hotspot/share: compiler, gc, runtime) and Node's as of Node 20
// (src/node_platform.cc, src/inspector_agent.cc, deps/uv/src/threadpool.c).
var idleWaits = []struct{ label, function, calls string }{
	{goIdle, "runtime.findRunnable", ""},
	{goIdle, "runtime.findrunnable", ""},
	{goIdle, "runtime.stopm", ""},
	{goIdle, "runtime.stoplockedm", ""},
	{goIdle, "runtime.mPark", ""},
	{goIdle, "runtime.sysmon", ""},
	{goIdle, "runtime.templateThread", ""},
	{goIdle, "os/signal.signal_recv", ""},

	{javaIdle, "CompileQueue::get", "Monitor::wait"},
	{javaIdle, "NMethodSweeper::sweeper_loop", "Monitor::wait"},
	{javaIdle, "GangWorker::loop", "PosixSemaphore::wait"},
	{javaIdle, "G1ConcurrentMarkThread::run_service", "Monitor::wait"},
	{javaIdle, "G1ConcurrentRefineThread::run_service", "PosixSemaphore::wait"},
	{javaIdle, "G1ServiceThread::sleep_before_next_cycle", "Monitor::wait"},
	{javaIdle, "MonitorDeflationThread::monitor_deflation_thread_entry", "Monitor::wait"},
	{javaIdle, "NotificationThread::notification_thread_entry", "Monitor::wait"},
	{javaIdle, "ServiceThread::service_thread_entry", "Monitor::wait"},
	{javaIdle, "VMThread::wait_for_operation", "Monitor::wait"},
	{javaIdle, "WatcherThread::sleep", "Monitor::wait"},
	{javaIdle, "os::signal_wait", "PosixSemaphore::wait"},

	{nodeIdle, "node::(anonymous namespace)::PlatformWorkerThread", "uv_cond_wait"},
	{nodeIdle, "node::WorkerThreadsTaskRunner::DelayedTaskScheduler::", "uv_run"},
	{nodeIdle, "node::inspector::(anonymous namespace)::StartIoThreadMain", "uv_sem_wait"},
	{nodeIdle, "worker", "uv_cond_wait"},
}

// goContention is the function in which Go's runtime waits for a lock of its own. Such a wait
// is no idle one, wherever the scheduler has it.
const goContention = "runtime.lock2"

// The labels of idle waits, in the order in which the view shows them.
const (
	goIdle   = "[Go scheduler idle]"
	javaIdle = "[JVM idle]"
	nodeIdle = "[Node.js idle]"
)

// idle returns the label of the idle wait that a stack ends in, or "".
func idle(levels []level) string {
	if i := slices.IndexFunc(levels, func(l level) bool { return l.kind == label }); i >= 0 {
		levels = levels[:i] // the rest is the waker's stack
	}
	for _, w := range idleWaits {
		i := slices.IndexFunc(levels, func(l level) bool { return l.kind == user && strings.HasPrefix(l.name, w.function) })
		if i < 0 || w.calls != "" && (i+1 == len(levels) || !strings.HasPrefix(levels[i+1].name, w.calls)) {
			continue
		}
		if w.label == goIdle && slices.ContainsFunc(levels[i:], func(l level) bool { return l.name == goContention }) {
			continue
		}
		return w.label
	}
	return ""
}

// idleTime is what a view leaves out of its shares.
type idleTime struct {
	label     string
	values    []uint64     // by metric
	processes map[int]bool // by TGID
}

// waitMetrics are the metrics that idle waits count for. A thread that was preempted while it
// looked for work was not idle.
var waitMetrics = []string{"OffCPUTime", "OffCPUCount"}

// takeIdle returns the rows of a profile without the time and the number of idle waits, and
// what that was for each label.
func takeIdle(p *profile.Profile) (rows []profile.Row, taken []idleTime) {
	var metrics []int
	for m := range p.Metrics {
		if slices.Contains(waitMetrics, p.Metrics[m].Name) {
			metrics = append(metrics, m)
		}
	}
	if len(metrics) == 0 {
		return p.Rows, nil
	}
	for _, label := range []string{goIdle, javaIdle, nodeIdle} {
		taken = append(taken, idleTime{label, make([]uint64, len(p.Metrics)), make(map[int]bool)})
	}
	rows = slices.Clone(p.Rows)
	l := newLeveler(p, false)
	var levels []level
	for i := range rows {
		r := &rows[i]
		levels = l.row(levels[:0], r)
		at := slices.IndexFunc(taken, func(t idleTime) bool { return t.label == idle(levels) })
		if at < 0 {
			continue
		}
		taken[at].processes[p.Processes[r.Process].TGID] = true
		r.Values = slices.Clone(r.Values)
		for _, m := range metrics {
			taken[at].values[m] += r.Values[m]
			r.Values[m] = 0
		}
	}
	return rows, slices.DeleteFunc(taken, func(t idleTime) bool { return len(t.processes) == 0 })
}

// idleLines say how much of a profile the view has left out of its shares.
func (v *view) idleLines() string {
	var text strings.Builder
	for _, t := range v.idle {
		var amounts []string
		for m, value := range t.values {
			if value > 0 {
				amounts = append(amounts, amount(t.values, v.Metrics, m))
			}
		}
		line := fmt.Sprintf("%s %s, not counted above", t.label, strings.Join(amounts, ", "))
		if t.label == goIdle {
			pid := "PID"
			if len(t.processes) == 1 {
				for only := range t.processes {
					pid = fmt.Sprint(only)
				}
			}
			line += "\n" + fmt.Sprintf("Waiting goroutines block no thread; to see them: ringtap stack %s", pid)
		}
		for _, part := range strings.Split(line, "\n") {
			fmt.Fprintln(&text, wrap(part, " ", v.opts.Width))
		}
	}
	return text.String()
}
