package process

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func TestThreadsAreNamedByRecordsAndBeforeThemByProc(t *testing.T) {
	proc := t.TempDir()
	for tid, name := range map[string]string{"7": "old", "8": "other"} {
		dir := filepath.Join(proc, "7", "task", tid)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		// /proc shows each thread under its own number too.
		for _, dir := range []string{dir, filepath.Join(proc, tid)} {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "comm"), []byte(name+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	threads := NewNames(Host{Proc: proc})
	threads.Snapshot(7)
	if err := os.RemoveAll(proc); err != nil {
		t.Fatal(err)
	}
	expect := func(when string, tid uint32, want string) {
		t.Helper()
		if got := string(threads.Name(tid)); got != want {
			t.Errorf("%s: thread %d is called %q, want %q", when, tid, got, want)
		}
	}
	expect("before the records", 7, "old")
	expect("before the records", 8, "other")
	expect("before the records", 0, "<idle>")
	expect("gone before it was read", 9, "")
	threads.Handle(&perfevent.Fork{PID: 10, TID: 10, PPID: 7, PTID: 8})
	expect("a child has its parent's name", 10, "other")
	threads.Handle(&perfevent.Comm{PID: 10, TID: 10, Exec: true, Name: []byte("new")})
	expect("until it executes another program", 10, "new")
	threads.Handle(&perfevent.Exit{PID: 10, TID: 10})
	expect("what it does after its exit record", 10, "new")
}

func TestNamesOfThreadsThatHaveEndedAreForgotten(t *testing.T) {
	threads := NewNames(Host{Proc: t.TempDir()})
	for tid := uint32(1); tid <= 100_000; tid++ {
		threads.Handle(&perfevent.Comm{PID: tid, TID: tid, Name: []byte(strconv.Itoa(int(tid)))})
		threads.Handle(&perfevent.Exit{PID: tid, TID: tid})
	}
	if n := len(threads.names); n > 2000 {
		t.Errorf("%d names are kept of threads that have ended", n)
	}
}

func TestForgottenNamesAreReadAgain(t *testing.T) {
	proc := t.TempDir()
	must(t, os.Mkdir(filepath.Join(proc, "7"), 0o777))
	threads := NewNames(Host{Proc: proc})
	for _, name := range []string{"old", "new"} {
		must(t, os.WriteFile(filepath.Join(proc, "7", "comm"), []byte(name+"\n"), 0o666))
		threads.Forget()
		if got := string(threads.Name(7)); got != name {
			t.Errorf("thread 7 is called %q, want %q", got, name)
		}
	}
}
