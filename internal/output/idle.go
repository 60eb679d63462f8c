package output

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// idleWaits are waits of threads for which a language's runtime has no work. A stack contains such
// a wait if a function's name starts with function, or equals it if exact is set. The name of the
// function that it calls must start with calls.
//
// The functions are from Go (runtime/proc.go, os/signal; findrunnable until Go 1.18), HotSpot as of
// JDK 17 (src/hotspot/share: compiler, gc, runtime) and Node 20 (src/node_platform.cc,
// src/inspector_agent.cc, deps/uv/src/threadpool.c).
var idleWaits = []struct {
	label, function, calls string
	exact                  bool
}{
	{goIdle, "runtime.findRunnable", "", false},
	{goIdle, "runtime.findrunnable", "", false},
	{goIdle, "runtime.stopm", "", false},
	{goIdle, "runtime.stoplockedm", "", false},
	{goIdle, "runtime.mPark", "", false},
	{goIdle, "runtime.sysmon", "", false},
	{goIdle, "runtime.templateThread", "", false},
	{goIdle, "os/signal.signal_recv", "", false},

	{javaIdle, "CompileQueue::get", "Monitor::wait", false},
	{javaIdle, "NMethodSweeper::sweeper_loop", "Monitor::wait", false},
	{javaIdle, "GangWorker::loop", "PosixSemaphore::wait", false},
	{javaIdle, "G1ConcurrentMarkThread::run_service", "Monitor::wait", false},
	{javaIdle, "G1ConcurrentRefineThread::run_service", "PosixSemaphore::wait", false},
	{javaIdle, "G1ServiceThread::sleep_before_next_cycle", "Monitor::wait", false},
	{javaIdle, "MonitorDeflationThread::monitor_deflation_thread_entry", "Monitor::wait", false},
	{javaIdle, "NotificationThread::notification_thread_entry", "Monitor::wait", false},
	{javaIdle, "ServiceThread::service_thread_entry", "Monitor::wait", false},
	{javaIdle, "VMThread::wait_for_operation", "Monitor::wait", false},
	{javaIdle, "WatcherThread::sleep", "Monitor::wait", false},
	{javaIdle, "os::signal_wait", "PosixSemaphore::wait", false},

	{nodeIdle, "node::(anonymous namespace)::PlatformWorkerThread", "uv_cond_wait", false},
	{nodeIdle, "node::WorkerThreadsTaskRunner::DelayedTaskScheduler::", "uv_run", false},
	{nodeIdle, "node::inspector::(anonymous namespace)::StartIoThreadMain", "uv_sem_wait", false},
	{nodeIdle, "worker", "uv_cond_wait", true},
}

// goContention is the function in which Go's runtime waits for one of its own locks. Such a wait is
// not idle, even within the scheduler.
const goContention = "runtime.lock2"

// The labels of idle waits, in the order of the view.
const (
	goIdle   = "[Go scheduler idle]"
	javaIdle = "[JVM idle]"
	nodeIdle = "[Node.js idle]"
)

// runsNode reports whether a stack contains code of Node.js.
func runsNode(p *profile.Profile, levels []level) bool {
	return slices.ContainsFunc(levels, func(l level) bool {
		if l.object < 0 {
			return false
		}
		file := path.Base(p.Objects[l.object].Path)
		return file == "node" || file == "nodejs" || strings.HasPrefix(file, "libnode.so")
	})
}

// idle returns the label of the idle wait at the end of a stack, or "". node says that the process
// runs Node.js. Only such processes have Node's idle waits, because other programs also use libuv.
func idle(levels []level, node bool) string {
	if i := slices.IndexFunc(levels, func(l level) bool { return l.kind == label }); i >= 0 {
		levels = levels[:i] // the rest is the waker's stack
	}
	for _, w := range idleWaits {
		i := slices.IndexFunc(levels, func(l level) bool {
			return l.kind == user && strings.HasPrefix(l.name, w.function) && (!w.exact || l.name == w.function)
		})
		if i < 0 || w.label == nodeIdle && !node || w.calls != "" && (i+1 == len(levels) || !strings.HasPrefix(levels[i+1].name, w.calls)) {
			continue
		}
		if w.label == goIdle && slices.ContainsFunc(levels[i:], func(l level) bool { return l.name == goContention }) {
			continue
		}
		return w.label
	}
	return ""
}

// idleTime is the part of one label that a view excludes from its shares.
type idleTime struct {
	label     string
	values    []uint64     // amounts, by metric
	processes map[int]bool // PIDs with such waits
}

// waitMetrics are the metrics that idle waits are excluded from. A thread that was preempted while
// it looked for work was not idle.
var waitMetrics = []string{"OffCPUTime", "OffCPUCount"}

// takeIdle returns the rows of p without the time and count of idle waits, and the amounts that it
// removed for each label.
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
	node := make(map[int]bool) // by index of a process
	for i := range rows {
		levels = l.row(levels[:0], &rows[i])
		node[rows[i].Process] = node[rows[i].Process] || runsNode(p, levels)
	}
	for i := range rows {
		r := &rows[i]
		levels = l.row(levels[:0], r)
		label := idle(levels, node[r.Process])
		at := slices.IndexFunc(taken, func(t idleTime) bool { return t.label == label })
		if at < 0 {
			continue
		}
		taken[at].processes[pidOf(&p.Processes[r.Process])] = true
		r.Values = slices.Clone(r.Values)
		for _, m := range metrics {
			taken[at].values[m] += r.Values[m]
			r.Values[m] = 0
		}
	}
	return rows, slices.DeleteFunc(taken, func(t idleTime) bool { return len(t.processes) == 0 })
}

// idleLines returns the lines about the waits that the view excludes from its shares.
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
		fmt.Fprintln(&text, wrap(line, " ", v.opts.Width))
		if t.label == goIdle {
			pid := "PID"
			if len(t.processes) == 1 {
				for only := range t.processes {
					pid = fmt.Sprint(only)
				}
			}
			fmt.Fprintln(&text, wrap("Waiting goroutines block no thread; to see them: ringtap stack "+pid, " ", v.opts.Width))
		}
	}
	return text.String()
}
