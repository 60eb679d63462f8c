package look

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/snapshot"
)

// sleeper is a thread that waits in a function of the program.
func sleeper(tid int, name, function string, holder *snapshot.Holder) *snapshot.Thread {
	return &snapshot.Thread{TID: tid, Comm: name, State: 'S', Call: "futex(0x1000, wait)", Holder: holder, User: []snapshot.Frame{
		{Name: "pthread_mutex_lock", Object: "/lib/libc.so.6"}, {Name: function, Object: "/srv", File: "/src/a.c", Line: 7}, {Name: "start_thread", Object: "/lib/libc.so.6"},
	}}
}

// held is a mutex of process 100 that a thread holds.
func held(variable string, tid int, name string) *snapshot.Holder {
	return &snapshot.Holder{Lock: snapshot.Lock{Kind: "mutex", Addr: 0x1000, Variable: variable}, PID: 100, TID: tid, Name: name}
}

func waiter(id uint64, state, function string, lock snapshot.Lock) *snapshot.Goroutine {
	return &snapshot.Goroutine{ID: id, State: state, Lock: lock, User: []snapshot.Frame{
		{Name: "runtime.gopark", Object: "/srv"}, {Name: "sync.(*Mutex).Lock", Object: "/srv"}, {Name: function, Object: "/srv"}, {Name: "runtime.goexit", Object: "/srv"},
	}}
}

func TestAVerdictSaysWhoWaitsForWhoseLock(t *testing.T) {
	mu := snapshot.Lock{Kind: "sync.Mutex", Addr: 0x2000, Variable: "main.mu"}
	python := sleeper(31, "python3", "acquire_timed", &snapshot.Holder{Lock: snapshot.Lock{Kind: "Python lock", Addr: 0x3000}})
	python.User = slices.Insert(python.User, 2, snapshot.Frame{Name: "flush", Runtime: "CPython 3.12", File: "/app/main.py", Line: 10})
	reader := &snapshot.Thread{TID: 6, Comm: "reader", State: 'S', Call: "read(0</dev/null>)"}
	for _, test := range []struct {
		name       string
		threads    []*snapshot.Thread
		goroutines []*snapshot.Goroutine
		want       []string
	}{
		{"none", []*snapshot.Thread{reader}, nil, []string{"no deadlock: no thread and no goroutine waits for a lock"}},
		{"a held lock", []*snapshot.Thread{sleeper(5, "worker", "work", held("jobs", 6, "reader")), sleeper(7, "worker", "work", held("jobs", 6, "reader")), reader}, nil,
			[]string{"2 threads (5 worker, 7 worker) wait for mutex jobs held by thread 6 (reader), which is in read(0</dev/null>)"}},
		{"a chain", []*snapshot.Thread{sleeper(4, "a", "work", held("jobs", 5, "b")), sleeper(5, "b", "work", held("", 6, "reader")), reader}, nil,
			[]string{"thread 4 (a) waits for mutex jobs held by thread 5 (b), which waits for mutex 0x1000 held by thread 6 (reader), which is in read(0</dev/null>)"}},
		{"a circle that a thread has left", []*snapshot.Thread{sleeper(4, "a", "work", held("jobs", 5, "b")), sleeper(5, "b", "work", held("log", 4, "a"))}, nil,
			[]string{"thread 4 (a) waits for mutex jobs held by thread 5 (b), which waits for mutex log held by thread 4 (a)"}},
		{"a wait for a thread of such a circle", []*snapshot.Thread{sleeper(3, "c", "work", held("jobs", 5, "b")), sleeper(4, "a", "work", held("jobs", 5, "b")), sleeper(5, "b", "work", held("log", 4, "a"))}, nil,
			[]string{"thread 3 (c) waits for mutex jobs held by thread 5 (b), which waits for mutex log held by thread 4 (a), which waits for mutex jobs held by thread 5 (b)"}},
		{"an ended holder", []*snapshot.Thread{sleeper(5, "worker", "work", &snapshot.Holder{Lock: snapshot.Lock{Kind: "mutex", Addr: 16}, PID: 100, TID: 9, Ended: true})}, nil,
			[]string{"thread 5 (worker) waits for mutex 0x10 held by thread 9, which has ended"}},
		{"readers", []*snapshot.Thread{sleeper(5, "worker", "work", &snapshot.Holder{Lock: snapshot.Lock{Kind: "rwlock", Addr: 16, Variable: "table"}, Readers: 2})}, nil,
			[]string{"thread 5 (worker) waits for rwlock table held by 2 unknown readers"}},
		{"a join", []*snapshot.Thread{sleeper(5, "main", "main", &snapshot.Holder{Lock: snapshot.Lock{Kind: "pthread_join"}, PID: 100, TID: 6, Name: "reader", Ends: true}), reader}, nil,
			[]string{"thread 5 (main) waits for the end of thread 6 (reader), which is in read(0</dev/null>)"}},
		{"Python", []*snapshot.Thread{python}, nil, []string{"thread 31 (python3) waits for Python lock 0x3000 (its holder is not known) in flush (main.py:10)"}},
		{"Go mutexes", nil, []*snapshot.Goroutine{waiter(4, "IO wait", "main.read", snapshot.Lock{}), waiter(5, "sync.Mutex.Lock", "main.save", mu), waiter(6, "sync.Mutex.Lock", "main.load", mu), waiter(7, "sync.Mutex.Lock", "main.load", mu)},
			[]string{"3 goroutines (2 in main.load, 1 in main.save) wait for sync.Mutex main.mu", "Go does not record which goroutine holds a mutex; --all shows what the others do"}},
		{"Go, all asleep", nil, []*snapshot.Goroutine{waiter(5, "sync.Mutex.Lock", "main.save", mu), waiter(6, "chan receive", "main.load", snapshot.Lock{})},
			[]string{"goroutine 5 (main.save) waits for sync.Mutex main.mu", "Go does not record which goroutine holds a mutex; --all shows what the others do",
				"deadlock: all 2 goroutines of process 100 wait for each other, unless a timer, a signal or C code wakes one"}},
		{"a channel", nil, []*snapshot.Goroutine{waiter(4, "IO wait", "main.read", snapshot.Lock{}), waiter(6, "chan receive", "main.load", snapshot.Lock{Kind: "chan", Addr: 0x5000})},
			[]string{"goroutine 6 (main.load) waits for chan 0x5000 (chan receive)"}},
	} {
		s := &snapshot.Snapshot{PID: 100, Threads: test.threads, Goroutines: test.goroutines}
		if diff := cmp.Diff(test.want, newVerdict([]*snapshot.Snapshot{s}).lines()); diff != "" {
			t.Errorf("%s: want -, got +\n%s", test.name, diff)
		}
	}
}

func TestADeadlockFitsALowScreenAndEndsWithTheVerdict(t *testing.T) {
	s := &snapshot.Snapshot{PID: 100, NSPID: 100, Comm: "server", Command: "/srv " + strings.Repeat("-x ", 100)}
	for i := range 4 {
		function := strings.Repeat("f", 1+i)
		thread := sleeper(101+i, "worker", function, held("jobs", 200, "idle"))
		for n := range 12 {
			thread.User = slices.Insert(thread.User, 2, snapshot.Frame{Name: "caller", Offset: uint64(n), Object: "/srv"})
		}
		s.Threads = append(s.Threads, thread)
	}
	s.Threads = append(s.Threads, sleeper(200, "idle", "rest", nil), sleeper(201, "other", "rest", nil))
	out, _, err := again(t, Options{Threads: snapshot.Options{Locks: true}, Width: 80, Height: 24}, func(int) (*snapshot.Snapshot, error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}
	const want = "\nnot shown: 1 thread (--all shows every one)\n\n" +
		"4 threads (101 worker, 102 worker, 103 worker, 104 worker) wait for mutex jobs\n  held by thread 200 (idle), which is sleeping in rest (a.c:7)\n"
	if !strings.HasSuffix(out, want) {
		t.Errorf("it does not end with\n%s", want)
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(line)); n > 81 {
			t.Errorf("a line of %d columns", n-1)
		}
	}
	for _, some := range []string{"  user   pthread_mutex_lock", " ffff+0x0", " … 12 more", "200 idle: sleeping, in futex(0x1000, wait)\n"} {
		if !strings.Contains(out, some) {
			t.Errorf("it lacks %q", some)
		}
	}
	if strings.Contains(out, "start_thread") {
		t.Error("it has what starts a thread")
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestWithAllTheStacksAreWhole(t *testing.T) {
	out, _, err := again(t, Options{Threads: snapshot.Options{Locks: true}, All: true}, func(int) (*snapshot.Snapshot, error) { return server(), nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, some := range []string{"thread 104 idle: ", "  held   mutex at 0x1000 by thread 103 (owner)\n  kernel futex_wait+0x1\n"} {
		if !strings.Contains(out, some) {
			t.Errorf("it lacks %q", some)
		}
	}
	if want := "\n\n2 threads (101 waiter, 102 waiter) wait for mutex 0x1000 held by thread 103 (owner), which is running in main\\x1b (a.c:7)\n"; !strings.HasSuffix(out, want) {
		t.Errorf("it does not end with %q", want)
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestStacksThatScrollAwayHaveAnOverviewAtTheEnd(t *testing.T) {
	for height, want := range map[int]string{
		0: "", 40: "",
		8: "\nin short:\n  2 threads (101 waiter, …): futex in main\\x1b (a.c:7) for 1s to 3s\n" +
			"  thread 103 owner: running in main\\x1b (a.c:7)\n  thread 104 idle: sleeping\n--deadlock shows who waits for whose lock.\n",
	} {
		s := server()
		s.Threads[0].User[0].Name = "pthread_mutex_lock"
		out, _, err := again(t, Options{Width: 80, Height: height}, func(int) (*snapshot.Snapshot, error) { return s, nil })
		_, overview, _ := strings.Cut(out, "[it has no memory]\n")
		if err != nil || overview != want {
			t.Errorf("%d lines: %v, %q, want %q", height, err, overview, want)
		}
	}
}

func TestAProcessThatIsInNoWaitIsNamed(t *testing.T) {
	a, b := server(), server()
	a.Threads = a.Threads[2:]
	var out bytes.Buffer
	n := 0
	l := looks{Options: Options{Threads: snapshot.Options{Locks: true}, Out: &out, Note: func(string) {}}, pids: []int{100, 101}, still: make(map[int]snapshot.Still),
		take: func(context.Context, int) (*snapshot.Snapshot, error) {
			n++
			return []*snapshot.Snapshot{a, b}[n-1], nil
		}}
	if err := l.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := "process 100 server: 2 threads, 1 running, 1 sleeping, pid 1 in its namespace\n/srv -x\n\nnot shown: 2 threads (--all shows every one)\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("it does not start with\n%s\n%s", want, &out)
	}
}
