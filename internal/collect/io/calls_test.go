package io

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// formats are those of a kernel that has all of the tracepoints.
func formats() Formats {
	enter := tabletest.Format("id", "args")
	enter.Fields[1] = ftrace.Field{Name: "args", Offset: 8, Size: 48}
	complete := tabletest.Format("ctx", "req", "user_data", "res", "cflags")
	complete.Fields[3].Signed = true
	exit := tabletest.Format("id", "ret")
	exit.Fields[1].Signed = true
	return Formats{
		Enter: enter, Exit: exit, Sent: tabletest.Format("ret"), received: tabletest.Format("ret"),
		Submit: tabletest.Format("ctx", "req", "user_data", "opcode"), Complete: complete,
	}
}

// recorded is a collector of a kernel like that, with the records that it is given.
func recorded(t *testing.T, f Formats, by By) (*Collector, *livetest.Recorder) {
	t.Helper()
	c, err := New(process.Host{Proc: t.TempDir()}, f, by, stack.Stacks{Kernel: true})
	if err != nil {
		t.Fatal(err)
	}
	return c, livetest.NewRecorder(t, c)
}

// sums adds up the rows of a window by their label.
func sums(w *table.Window) (all [4]uint64) {
	for i := range w.Rows {
		for column := range all {
			all[column] += w.Rows[i].Values[column]
		}
	}
	return all
}

const failed = ^uint64(unix.EIO - 1)

func TestEachCallCountsWhatItMovedOrThatItFailed(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(r *livetest.Recorder)
		want [4]uint64 // bytes, calls, time, errors
	}{
		{"a read", func(r *livetest.Recorder) {
			r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_READ, 0, 0, 100, 0, 0, 0)
			r.Sample(ioExit, 5, 15, 0, unix.SYS_READ, 60)
		}, [4]uint64{60, 1, 5, 0}},
		{"one that fails", func(r *livetest.Recorder) {
			r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_READ, 0, 0, 100, 0, 0, 0)
			r.Sample(ioExit, 5, 12, 0, unix.SYS_READ, failed)
		}, [4]uint64{0, 0, 2, 1}},
		{"one that a signal interrupts, and then one that would have to wait", func(r *livetest.Recorder) {
			r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_READ, 0, 0, 100, 0, 0, 0)
			r.Sample(ioExit, 5, 12, 0, unix.SYS_READ, ^uint64(-restartSys-1))
			r.Sample(ioEnter, 5, 20, 0x1, unix.SYS_READ, 0, 0, 100, 0, 0, 0)
			r.Sample(ioExit, 5, 23, 0, unix.SYS_READ, ^uint64(unix.EAGAIN-1))
		}, [4]uint64{0, 0, 5, 0}},
		{"a request that would have to wait", func(r *livetest.Recorder) {
			r.Sample(ioSubmit, 5, 10, 0x1, 1, 100, 7, 22)
			r.Sample(ioComplete, 5, 30, 0, 1, 100, 7, ^uint64(unix.EAGAIN-1), 0)
		}, [4]uint64{0, 0, 20, 0}},
		{"a datagram longer than its buffer (MSG_TRUNC)", func(r *livetest.Recorder) {
			r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_RECVFROM, 0, 0, 7, 0, 0, 0)
			r.Sample(ioExit, 5, 12, 0, unix.SYS_RECVFROM, 1<<40)
		}, [4]uint64{7, 1, 2, 0}},
		{"one that began before the run", func(r *livetest.Recorder) {
			r.Sample(ioExit, 5, 12, 0, unix.SYS_READ, 3)
		}, [4]uint64{3, 1, 12, 0}}, // and counts from its begin
		{"messages, whose result is their number", func(r *livetest.Recorder) {
			r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_SENDMMSG, 3, 0, 2, 0, 0, 0)
			r.Sample(ioSent, 5, 11, 0, 40)
			r.Sample(ioReceived, 5, 11, 0, 1000) // of the other end, which is none of this call's
			r.Sample(ioSent, 5, 12, 0, 2)
			r.Sample(ioExit, 5, 13, 0, unix.SYS_SENDMMSG, 2)
			r.Sample(ioSent, 5, 14, 0, 5) // of no call that is under way
		}, [4]uint64{42, 1, 3, 0}},
		{"messages that come", func(r *livetest.Recorder) {
			r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_RECVMMSG, 3, 0, 2, 0, 0, 0)
			r.Sample(ioReceived, 5, 11, 0, 9)
			r.Sample(ioExit, 5, 13, 0, unix.SYS_RECVMMSG, 1)
		}, [4]uint64{9, 1, 3, 0}},
		{"one of a thread that ends in it", func(r *livetest.Recorder) {
			r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_READ, 0, 0, 100, 0, 0, 0)
			r.Record(&perfevent.Exit{Header: perfevent.Header{PID: 5, TID: 5, Time: 30}, PID: 5, TID: 5, PPID: 1})
		}, [4]uint64{0, 0, 20, 0}},
		{"a request", func(r *livetest.Recorder) {
			r.Sample(ioSubmit, 5, 10, 0x1, 1, 100, 7, 22)
			r.Sample(ioComplete, 5, 30, 0, 1, 100, 7, 512, 0)
			r.Sample(ioComplete, 5, 31, 0, 1, 100, 7, 512, 0) // of no request any more
		}, [4]uint64{512, 1, 20, 0}},
		{"a request that fails", func(r *livetest.Recorder) {
			r.Sample(ioSubmit, 5, 10, 0x1, 1, 100, 7, 22)
			r.Sample(ioComplete, 5, 30, 0, 1, 100, 7, failed, 0)
		}, [4]uint64{0, 0, 20, 1}},
		{"a request with several results, the last of which is named by its ring", func(r *livetest.Recorder) {
			r.Sample(ioSubmit, 5, 10, 0x1, 1, 100, 7, 22)
			r.Sample(ioComplete, 5, 20, 0, 1, 100, 7, 5, moreFollows)
			r.Sample(ioComplete, 5, 25, 0, 1, 0, 7, 6, 0)
			r.Sample(ioComplete, 5, 26, 0, 1, 0, 7, 6, 0) // there is none of that ring
		}, [4]uint64{11, 2, 15, 0}},
		{"a request of a process that ends", func(r *livetest.Recorder) {
			r.Sample(ioSubmit, 5, 10, 0x1, 1, 100, 7, 22)
			r.Record(&perfevent.Exit{Header: perfevent.Header{PID: 5, TID: 5, Time: 30}, PID: 5, TID: 5, PPID: 1})
			r.Sample(ioComplete, 6, 40, 0, 1, 100, 7, 5, 0)
		}, [4]uint64{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, r := recorded(t, formats(), ByNothing)
			test.run(r)
			if got := sums(r.Finish(50)); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestWhatIsUnderWayCountsUpToTheEnd(t *testing.T) {
	c, r := recorded(t, formats(), ByNothing)
	r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_READ, 0, 0, 100, 0, 0, 0)
	r.Sample(ioSubmit, 6, 20, 0x2, 1, 100, 7, 22)
	if c.Bytes() == 0 {
		t.Error("a call and a request take no memory")
	}
	if got := sums(r.Finish(50)); got != [4]uint64{0, 0, 70, 0} {
		t.Errorf("%v, want 40 ns of the call and 30 of the request", got)
	}
	if c.Forget(0); c.Bytes() != 0 {
		t.Errorf("%d bytes after all is forgotten", c.Bytes())
	}
}

// The processes are gone: their calls alone tell what descriptors are.
func TestRowsAreSplitByWhatTheCallsTell(t *testing.T) {
	c, r := recorded(t, formats(), ByType)
	r.Sample(ioExit, 5, 5, 0, unix.SYS_SOCKET, 3)
	r.Record(&perfevent.Fork{Header: perfevent.Header{PID: 6, TID: 6, Time: 6}, PID: 6, TID: 6, PPID: 5, PTID: 5})
	for i, pid := range []uint32{5, 6} {
		at := uint64(10 + 10*i)
		r.Sample(ioEnter, pid, at, 0x1, unix.SYS_READ, 3, 0, 100, 0, 0, 0)
		r.Sample(ioExit, pid, at+1, 0, unix.SYS_READ, 8)
		r.Sample(ioEnter, pid, at+2, 0x1, unix.SYS_CLOSE, 3, 0, 0, 0, 0, 0)
	}
	r.Record(&perfevent.Comm{Header: perfevent.Header{PID: 6, TID: 6, Time: 40}, PID: 6, TID: 6, Exec: true, Name: []byte("other")})
	r.Sample(ioSubmit, 6, 41, 0x2, 1, 100, 7, 22)
	r.Record(&perfevent.Lost{Header: perfevent.Header{Time: 42}, Lost: 1})
	w := r.Finish(50)
	labels := make(map[string]uint64)
	for i := range w.Rows {
		frames := w.Stacks[w.Rows[i].Kernel].Frames
		labels[w.Labels[frames[0].Offset]] += w.Rows[i].Values[ioSize]
	}
	if labels["[socket]"] != 16 {
		t.Errorf("by label: %v, want 16 bytes of [socket]", labels)
	}
	if _, ok := labels["[io_uring]"]; !ok {
		t.Errorf("by label: %v, want [io_uring]", labels)
	}
	if c.Bytes() == 0 {
		t.Error("labels take no memory")
	}
}

// Notes of a window count what was in it, those of the run all.
func TestNotesCountTheirWindowOrTheRun(t *testing.T) {
	c, r := recorded(t, formats(), ByType)
	again := int64(-int(unix.EAGAIN))
	for window := range uint64(3) {
		for i := range window + 1 {
			at := 100*window + 10*i + 1
			r.Sample(ioEnter, 5, at, 0x1, unix.SYS_READ, 3, 0, 100, 0, 0, 0)
			r.Sample(ioExit, 5, at+1, 0, unix.SYS_READ, uint64(again))
			r.Sample(ioEnter, 5, at+2, 0x1, unix.SYS_READ, 3, 0, 100, 0, 0, 0)
			r.Sample(ioExit, 5, at+3, 0, unix.SYS_READ, 8)
			c.descriptors.late.add(1)
		}
	}
	r.Finish(300)
	check := func(name string, notes, details []string, n int) {
		t.Helper()
		wantNotes := []string{
			fmt.Sprintf("files whose names were read a moment after they were opened, and may be those of other files: %d", n),
			fmt.Sprintf("[file] and [closed]: %d calls moved %d bytes through descriptors that were closed before ringtap could find their names", n, 8*n),
		}
		wantDetails := []string{fmt.Sprintf("io: calls that were interrupted or found no data or room (EAGAIN), which are not errors: %d", n)}
		if !slices.Equal(notes, wantNotes) || !slices.Equal(details, wantDetails) {
			t.Errorf("%s: %q and %q, want %q and %q", name, notes, details, wantNotes, wantDetails)
		}
	}
	for i, w := range r.Windows {
		check(fmt.Sprint("window ", i), w.Notes, w.Details, i+1)
	}
	notes, details := c.Notes(true)
	check("run", notes, details, 1+2+3)
}

func TestProcessesThatUseIOURingAreNoted(t *testing.T) {
	old := formats()
	old.Submit = nil // Linux before 5.17
	for want, f := range map[string]Formats{
		"io_uring is used by 5 :5: this kernel does not tell what its requests move, and they are not counted": old,
		"io_uring is used by 5 :5: its requests count from their submission to their completion":               formats(),
	} {
		c, r := recorded(t, f, ByNothing)
		if notes, _ := c.Notes(true); notes != nil {
			t.Errorf("notes without io_uring: %q", notes)
		}
		if c.uring == nil {
			r.Sample(ioEnter, 5, 10, 0x1, unix.SYS_IO_URING_ENTER, 0, 0, 0, 0, 0, 0)
		} else {
			r.Sample(ioSubmit, 5, 10, 0x1, 1, 100, 7, 22)
		}
		if notes, _ := c.Notes(true); !slices.Equal(notes, []string{want}) {
			t.Errorf("%q, want %q", notes, want)
		}
	}
}

func TestThePlanHasWhatTheKernelHas(t *testing.T) {
	bare := formats()
	bare.Sent, bare.Submit = nil, nil
	for _, test := range []struct {
		formats Formats
		by      By
		want    int
	}{{formats(), ByNothing, 6}, {bare, ByNothing, 2}, {bare, ByFile, 2}} {
		c, _ := recorded(t, test.formats, test.by)
		if p := c.Plan(); len(p.Samplings) != test.want || len(p.Metrics) != 6 || !p.Ordered {
			t.Errorf("%d samplings, want %d", len(p.Samplings), test.want)
		}
	}
	if _, err := New(process.Host{}, Formats{Enter: tabletest.Format("id"), Exit: tabletest.Format("id", "ret")}, ByNothing, stack.Stacks{}); err == nil {
		t.Error("a tracepoint without its fields is taken")
	}
}

func TestAllDescriptorsOfAProcessAreLookedUp(t *testing.T) {
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c, err := New(process.Host{}, formats(), ByFile, stack.Stacks{})
	if err != nil {
		t.Fatal(err)
	}
	c.look(os.Getpid())
	c.look(1 << 30) // has ended
	pid := uint32(os.Getpid())
	if d := c.descriptors.known[pid][int32(null.Fd())]; d.word != "/dev/null" || d.atExec != closes || !c.descriptors.whole[pid] {
		t.Errorf("/dev/null is %+v", d)
	}
	c.descriptors.replaced(pid)
	if _, open := c.descriptors.known[pid][int32(null.Fd())]; open {
		t.Error("a descriptor that exec closes is open after it")
	}
}

// What is read and what is written are counted apart; a copy is both.
func TestReadsAndWritesAreCountedApart(t *testing.T) {
	for _, test := range []struct {
		name                 string
		run                  func(r *livetest.Recorder)
		moved, read, written uint64
	}{
		{"a read", func(r *livetest.Recorder) { r.Sample(ioExit, 5, 12, 0, unix.SYS_PREAD64, 3) }, 3, 3, 0},
		{"a write", func(r *livetest.Recorder) { r.Sample(ioExit, 5, 12, 0, unix.SYS_WRITEV, 4) }, 4, 0, 4},
		{"a message that comes", func(r *livetest.Recorder) { r.Sample(ioExit, 5, 12, 0, unix.SYS_RECVMSG, 5) }, 5, 5, 0},
		{"memory to a pipe", func(r *livetest.Recorder) { r.Sample(ioExit, 5, 12, 0, unix.SYS_VMSPLICE, 6) }, 6, 0, 6},
		{"a copy", func(r *livetest.Recorder) { r.Sample(ioExit, 5, 12, 0, unix.SYS_COPY_FILE_RANGE, 7) }, 7, 7, 7},
		{"a request that reads", func(r *livetest.Recorder) {
			r.Sample(ioSubmit, 5, 10, 0x1, 1, 100, 7, 22)
			r.Sample(ioComplete, 5, 30, 0, 1, 100, 7, 8, 0)
		}, 8, 8, 0},
		{"a request that writes", func(r *livetest.Recorder) {
			r.Sample(ioSubmit, 5, 10, 0x1, 1, 100, 7, 23)
			r.Sample(ioComplete, 5, 30, 0, 1, 100, 7, 9, 0)
		}, 9, 0, 9},
	} {
		_, r := recorded(t, formats(), ByNothing)
		test.run(r)
		var got [6]uint64
		for _, row := range r.Finish(50).Rows {
			for column := range got {
				got[column] += row.Values[column]
			}
		}
		if got[ioSize] != test.moved || got[ioRead] != test.read || got[ioWritten] != test.written {
			t.Errorf("%s: %d moved, %d read, %d written; want %d, %d, %d", test.name, got[ioSize], got[ioRead], got[ioWritten], test.moved, test.read, test.written)
		}
	}
}
