package table

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// A window waits to be symbolized while its process ends, its file is deleted and
// thousands of others run.
func TestWhatAWindowRefersToStaysReadableUntilTheWindowIsGone(t *testing.T) {
	const pid, code = 5, 0x400000
	dir := t.TempDir()
	name := filepath.Join(dir, "program")
	if err := os.WriteFile(name, []byte("code"), 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	processes := process.NewTable(process.Options{Host: process.Host{Proc: dir}})
	t.Cleanup(processes.Close)
	var window *Window
	r := NewRecorder([]Collector{&counting{stacks: stack.Stacks{User: true, Unwind: stack.FP}}}, processes, 0,
		Options{Memory: 1 << 20, Interval: second, Emit: func(w *Window) {
			if len(w.Rows) > 0 {
				window = w
			}
		}})
	at := func(time uint64) perfevent.Header { return perfevent.Header{PID: pid, TID: pid, Time: time} }
	tabletest.Handle(t, r, &perfevent.Comm{Header: at(1), PID: pid, TID: pid, Exec: true, Name: []byte("program")})
	tabletest.Handle(t, r, &perfevent.Mmap{Header: perfevent.Header{Type: unix.PERF_RECORD_MMAP2, Time: 2}, PID: pid, TID: pid,
		Addr: code, Len: 4096, Prot: unix.PROT_EXEC, Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev), Inode: st.Ino, Filename: []byte(name)})
	sample := tabletest.StackSample(code + 8)
	sample.Header, sample.Callchain = at(3), []uint64{callchain.ContextUser, code + 8}
	tabletest.Handle(t, r, sample)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	others := func() {
		for i := range uint32(8192) {
			other := 1000 + i
			tabletest.Handle(t, r, &perfevent.Fork{Header: at(2 * second), PID: other, TID: other, PPID: 1, PTID: 1})
			tabletest.Handle(t, r, &perfevent.Exit{Header: at(2 * second), PID: other, TID: other})
		}
	}
	tabletest.Handle(t, r, &perfevent.Exit{Header: at(4), PID: pid, TID: pid})
	others() // the first of them ends the window
	if window == nil || len(window.Stacks) != 1 || len(processes.Objects()) != 2 {
		t.Fatalf("window %+v of %d objects; want one with a stack in a file", window, len(processes.Objects()))
	}
	image := window.Images[window.Stacks[0].Frames[0].Object]
	text := make([]byte, 4)
	if _, err := image.Code.ReadAt(text, 0); err != nil || string(text) != "code" {
		t.Errorf("the window's file reads %q, %v", text, err)
	}
	runtime.KeepAlive(window)
	window = nil
	runtime.GC()
	others()
	if n := len(processes.Objects()); n != 1 {
		t.Errorf("%d objects are left; want the kernel alone", n)
	}
	if _, err := image.Code.ReadAt(text, 0); err == nil {
		t.Error("the file of an object that has ended is open")
	}
}
