package output

import (
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
)

// waitsOf is an off-cpu profile of process 7, called server. Each stack is its functions, root first, joined by
// semicolons, and waited once for 100 ms. "--" is the label of off-cpu --wakers.
func waitsOf(stacks ...string) *profile.Profile {
	p := &profile.Profile{
		Collector: "off-cpu", Duration: time.Second,
		Metrics: []profile.Metric{
			{Name: "OffCPUTime", Unit: "nanoseconds", Scale: 1}, {Name: "OffCPUCount", Unit: "counts", Scale: 1},
			{Name: "PreemptedTime", Unit: "nanoseconds", Scale: 1}, {Name: "PreemptedCount", Unit: "counts", Scale: 1},
		},
		Objects:   []profile.Object{{Path: "[kernel]", Kernel: true}, {Path: "/usr/bin/server"}, {Labels: true}},
		Processes: []profile.Process{{PID: 7, TGID: 7, Comm: "server"}},
	}
	for i, stack := range stacks {
		s := profile.Stack{}
		for name := range strings.SplitSeq(stack, ";") {
			object := 1
			if name == wokenBy {
				object = 2
			}
			s.Frames = append(s.Frames, len(p.Frames))
			p.Frames = append(p.Frames, profile.Frame{Object: object, Name: name})
		}
		p.Stacks = append(p.Stacks, s)
		p.Rows = append(p.Rows, profile.Row{User: i, Kernel: profile.None, Values: []uint64{1e8, 1, 1e6, 1}})
	}
	return p
}

func TestIdleWaitsAreThoseOfRuntimesWithoutWork(t *testing.T) {
	const (
		schedule = "runtime.mcall;runtime.park_m;runtime.schedule;runtime.findRunnable;"
		jvm      = "start_thread;thread_native_entry;Thread::call_run;"
	)
	const inNode = "node: " // the process runs Node.js
	for stack, want := range map[string]string{
		schedule + "runtime.stopm;runtime.mPark;runtime.notesleep;runtime.futexsleep;runtime.futex.abi0":                     goIdle,
		schedule + "runtime.netpoll;internal/runtime/syscall.EpollWait":                                                      goIdle,
		"runtime.mstart.abi0;runtime.mstart0;runtime.mstart1;runtime.sysmon;runtime.usleep.abi0":                             goIdle,
		"runtime.mstart1;runtime.templateThread;runtime.notesleep":                                                           goIdle,
		"runtime.goexit.abi0;os/signal.loop;os/signal.signal_recv;runtime.notetsleepg;runtime.entersyscall":                  goIdle,
		schedule + "runtime.stopm;runtime.lock2;runtime.futexsleep;runtime.futex.abi0":                                       "",
		"runtime.gcStart;runtime.stopTheWorldWithSema;runtime.notetsleep;runtime.futex.abi0":                                 "",
		"runtime.goexit.abi0;main.save;os.(*File).Sync;syscall.Fsync":                                                        "",
		"runtime.goexit.abi0;main.save;syscall.Fsync;--;runtime.mcall;runtime.findRunnable":                                  "",
		schedule + "runtime.stopm;--;main.save;runtime.wakep":                                                                goIdle,
		jvm + "JavaThread::thread_main_inner;CompileBroker::compiler_thread_loop;CompileQueue::get;Monitor::wait;futex_wait": javaIdle,
		jvm + "GangWorker::run;GangWorker::loop;PosixSemaphore::wait":                                                        javaIdle,
		jvm + "GangWorker::run;GangWorker::loop;G1ParTask::work;Monitor::wait":                                               "",
		inNode + "start_thread;worker;uv_cond_wait;pthread_cond_wait":                                                        nodeIdle,
		"start_thread;worker;uv_cond_wait;pthread_cond_wait":                                                                 "",
		inNode + "start_thread;worker_main;uv_cond_wait;pthread_cond_wait":                                                   "",
		inNode + "start_thread;worker;uv__fs_work;fsync":                                                                     "",
	} {
		stack, node := strings.CutPrefix(stack, inNode)
		p := waitsOf(stack)
		if got := idle(newLeveler(p, false).row(nil, &p.Rows[0]), node); got != want {
			t.Errorf("%s: %q, want %q", stack, got, want)
		}
	}
}

func TestWorkersOfLibuvAreIdleInProcessesThatRunNode(t *testing.T) {
	const worker = "start_thread;worker;uv_cond_wait"
	for path, want := range map[string]int{"/usr/bin/server": 0, "/usr/bin/node": 1, "/usr/lib/libnode.so.115": 1} {
		p := waitsOf(worker, "main")
		p.Objects = append(p.Objects, profile.Object{Path: path})
		p.Frames[len(p.Frames)-1].Object = len(p.Objects) - 1 // of main
		if _, taken := takeIdle(p); len(taken) != want {
			t.Errorf("%s: %d labels, want %d", path, len(taken), want)
		}
	}
}

func TestTheViewHasIdleWaitsInOneLineAtTheEnd(t *testing.T) {
	p := waitsOf("runtime.findRunnable;runtime.stopm;runtime.futex.abi0", "runtime.goexit.abi0;main.save;syscall.Fsync",
		"runtime.sysmon;runtime.usleep.abi0")
	const want = `off-cpu: 100 ms off-CPU, 1 wait, 3 ms preempted, 3 preemptions in 1 s

  SELF           TOTAL          PREEMPTED  WAITS  FUNCTION
100 ms  100.0%  100 ms  100.0%       1 ms      1  main.save (server)

 SHARE      TOTAL  CALL TREE
100.0%     100 ms  server → runtime.goexit.abi0 → main.save → syscall.Fsync
Calls below 0.5% are not shown; --out FILE.html has them all.
[Go scheduler idle] 200 ms off-CPU, 2 waits, not counted above
Waiting goroutines block no thread; to see them: ringtap stack 7
`
	got := viewText(t, p, ViewOptions{TableOptions: TableOptions{Width: 80, Top: 20}})
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, height := range []int{24, 40} {
		got := viewText(t, p, ViewOptions{TableOptions: TableOptions{Width: 80, Top: 20}, Height: height, Below: 3})
		if n := strings.Count(got, "\n"); n+3+1 > height || !strings.HasSuffix(got, "ringtap stack 7\n") {
			t.Errorf("%d lines for a screen of %d:\n%s", n, height, got)
		}
	}
}

func TestFoldedStacksHaveIdleWaits(t *testing.T) {
	var b strings.Builder
	if err := WriteFolded(&b, waitsOf("runtime.findRunnable;runtime.stopm", "main.save"), FileOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "server;main.save 100000000\nserver;runtime.findRunnable;runtime.stopm 100000000\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

func TestAProfileOfIdleThreadsAloneSaysSo(t *testing.T) {
	got := viewText(t, waitsOf("runtime.findRunnable;runtime.stopm"), ViewOptions{TableOptions: TableOptions{Width: 80, Top: 20}})
	if !strings.Contains(got, "\n[Go scheduler idle] 100 ms off-CPU, 1 wait, not counted above\n") || strings.Contains(got, "stopm") {
		t.Errorf("got\n%s", got)
	}
}
