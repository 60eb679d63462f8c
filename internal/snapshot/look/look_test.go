package look

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/snapshot"
)

// server is a process of four threads: two wait at the same place for a lock that the third
// holds, which runs.
func server() *snapshot.Snapshot {
	frames := []snapshot.Frame{{Name: "lock", Offset: 0x1c, Object: "/lib/libc.so.6"}, {Name: "main\x1b", Offset: 8, Object: "/srv", File: "a.c", Line: 7}}
	holder := &snapshot.Holder{Lock: snapshot.Lock{Kind: "mutex", Addr: 0x1000}, PID: 100, TID: 103, Name: "owner"}
	wait := func(tid int, waited time.Duration) *snapshot.Thread {
		return &snapshot.Thread{TID: tid, Comm: "waiter", State: 'S', Waited: waited, Known: true, Call: "futex(wait)",
			Kernel: []string{"futex_wait+0x1"}, User: frames, Holder: holder}
	}
	return &snapshot.Snapshot{
		PID: 100, NSPID: 1, Comm: "server", Command: "/srv -x", Time: time.Unix(0, 0).UTC(),
		Threads: []*snapshot.Thread{
			wait(101, time.Second), wait(102, 3*time.Second),
			{TID: 103, Comm: "owner", State: 'R', User: frames[1:], Truncated: true, Sampled: true},
			{TID: 104, Comm: "idle", State: 'S', Wchan: "do_poll", Missing: "it has no memory"},
		},
	}
}

func TestAProcessIsWrittenWithTheReasonFirst(t *testing.T) {
	var out bytes.Buffer
	s := server()
	text{&out, s, s.Since(snapshot.Still{}), false, 0}.write()
	const want = `process 100 server: 4 threads, 1 running, 3 sleeping, pid 1 in its namespace
/srv -x

2 threads (101 waiter, 102 waiter): sleeping for 1s to 3s
  in     futex(wait)
  held   mutex at 0x1000 by thread 103 (owner)
  kernel futex_wait+0x1
  user   lock+0x1c (libc.so.6)
         main\x1b+0x8 (srv) a.c:7

thread 103 owner: running
  user   main\x1b+0x8 (srv) a.c:7
         [its callers are not known]

thread 104 idle: sleeping
  kernel do_poll (where it sleeps; the stack takes root)
  user   [it has no memory]
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestGoroutinesStandBeforeTheThreads(t *testing.T) {
	var out bytes.Buffer
	wait := func(id uint64) *snapshot.Goroutine {
		return &snapshot.Goroutine{ID: id, State: "chan receive", User: []snapshot.Frame{{Name: "main.wait", Object: "/go"}}, Creator: "main.main"}
	}
	s := &snapshot.Snapshot{PID: 7, NSPID: 7, Comm: "go", Runtimes: []string{"go1.25"}, Goroutines: []*snapshot.Goroutine{wait(5), wait(6)},
		Threads: []*snapshot.Thread{{TID: 7, Comm: "go", State: 'S', User: []snapshot.Frame{{Name: "runtime.futex", Object: "/go"}}}}}
	text{&out, s, s.Since(snapshot.Still{}), false, 0}.write()
	const want = `process 7 go: 1 thread
go1.25: 2 goroutines

2 goroutines (5, 6): chan receive
  user   main.wait+0x0 (go)
  made   by main.main

1 thread of the Go runtime (7 go), idle or its own; --all shows them
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// again looks at process 100, which is what take says.
func again(t *testing.T, o Options, take func(n int) (*snapshot.Snapshot, error)) (out string, notes []string, err error) {
	t.Helper()
	var text bytes.Buffer
	o.Out, o.Note = &text, func(note string) { notes = append(notes, note) }
	n := 0
	l := looks{Options: o, pids: []int{100}, asked: map[int]bool{100: true}, still: make(map[int]snapshot.Still), told: make(map[string]bool),
		take: func(context.Context, int) (*snapshot.Snapshot, error) { n++; return take(n) }}
	err = l.run(context.Background())
	return text.String(), notes, err
}

func TestLooksGoOnUntilTheProcessHasEnded(t *testing.T) {
	out, notes, err := again(t, Options{Every: time.Nanosecond, Search: target.Search{Names: []string{"100"}}}, func(n int) (*snapshot.Snapshot, error) {
		if n == 3 {
			return nil, &snapshot.GoneError{PID: 100}
		}
		return server(), nil
	})
	if err != nil || len(notes) != 1 || notes[0] != "process 100 has ended" {
		t.Errorf("%v, notes %q", err, notes)
	}
	if strings.Count(out, "process 100 server: ") != 2 || strings.Count(out, "\nlook 2, ") != 1 {
		t.Errorf("wrote\n%s", out)
	}
}

func TestThreadsThatHaveNotMovedShowNoStackAgain(t *testing.T) {
	var out bytes.Buffer
	still := snapshot.Still{Threads: map[int]snapshot.Stood{101: {Looks: 3}, 102: {Looks: 2}, 103: {Looks: 1}}}
	text{&out, server(), still, false, 0}.write()
	_, threads, _ := strings.Cut(out.String(), "/srv -x\n")
	const want = `2 threads (101 waiter, 102 waiter): sleeping for 1s to 3s; not moved in 2 looks
  in     futex(wait)
  held   mutex at 0x1000 by thread 103 (owner)

thread 103 owner: running
`
	if !strings.HasPrefix(threads, want) {
		t.Errorf("want\n%s\ngot\n%s", want, threads)
	}
}

func TestAProcessThatIsNotThereIsAnError(t *testing.T) {
	_, _, err := again(t, Options{}, func(int) (*snapshot.Snapshot, error) { return nil, &snapshot.GoneError{PID: 100} })
	if !errors.As(err, new(*snapshot.GoneError)) {
		t.Errorf("%v", err)
	}
}

func TestJSONHasWhatTheTextHas(t *testing.T) {
	out, _, err := again(t, Options{JSON: true}, func(int) (*snapshot.Snapshot, error) { return server(), nil })
	if err != nil {
		t.Fatal(err)
	}
	var got jsonSnapshot
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.PID != 100 || got.NSPID != 1 || len(got.Threads) != 4 || *got.Threads[1].Waited != 3e9 || got.Threads[0].Holder.TID != 103 || got.Threads[2].Waited != nil || !got.Threads[2].Sampled {
		t.Errorf("read\n%+v", got)
	}
	if place := got.Threads[0].User[1]; place != (jsonPlace{Name: `main\x1b`, Offset: 8, Object: "/srv", File: "a.c", Line: 7}) {
		t.Errorf("the second frame is %+v", place)
	}
}

func TestAProcessIsFoundByItsNumber(t *testing.T) {
	parent := strconv.Itoa(os.Getppid())
	var out bytes.Buffer
	err := Run(context.Background(), Options{Search: target.Search{Names: []string{parent}}, Out: &out, Note: func(string) {}})
	if err != nil || !strings.HasPrefix(out.String(), "process "+parent+" ") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestALineFitsTheTerminal(t *testing.T) {
	for _, test := range []struct {
		line  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"pthread_mutex_lock+0x112 (libc.so.6) ./nptl/./nptl/pthread_mutex_lock.c:93", 62, "pthread_mutex_lock+0x112 (libc.so.6) …/pthread_mutex_lock.c:93"},
		{"futex(0x55abf40e4080, wait, while it is 2, no timeout)", 20, "futex(0x55abf40e408…"},
		{"über_lang (ä/ö.c)", 8, "über_la…"},
		{"no terminal at all, so that nothing is cut", -9, "no terminal at all, so that nothing is cut"},
	} {
		got := fit(test.line, test.width)
		if test.width > 0 && len([]rune(got)) > test.width {
			t.Errorf("%q has %d columns, not %d", got, len([]rune(got)), test.width)
		}
		if got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
