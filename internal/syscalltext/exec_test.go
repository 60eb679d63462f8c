package syscalltext

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/perfevent"
)

// starting is a reader of the calls of execve(2), whose processes' memory is gone.
func starting(t *testing.T, m fakeMemory, call string, params ...string) *reading {
	t.Helper()
	f := formatOf(call, params...)
	f.System = "syscalls"
	r := &reading{reader: newReader()}
	r.memory, r.now = m.read, func() uint64 { return r.clock }
	r.maps = func(int) ranges { return nil }
	r.reader.events = []*event{{layout: newLayout(f, Params(f))}}
	r.execs = &execs{
		filename: &ftrace.Field{Name: "filename", Offset: 8, Size: 4, Location: ftrace.DataLoc, Array: true, String: true},
		oldPID:   &ftrace.Field{Name: "old_pid", Offset: 16, Size: 4},
		memory:   m.read, sp: stackPointer, threads: make(map[uint32]*execThread),
	}
	r.attachment = &Attachment{Sources: oneSource(), events: r.reader.events, reader: r.reader}
	var err error
	if r.printer, err = printfmt.New(r.reader.events[0].layout.format, printfmt.Options{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// execve is a call of thread 8 of process 7.
func execve(time uint64) *perfevent.Sample {
	raw := make([]byte, 32)
	binary.LittleEndian.PutUint64(raw[16:], 0x5000)
	binary.LittleEndian.PutUint64(raw[24:], 0x6000)
	return &perfevent.Sample{Header: perfevent.Header{PID: 7, TID: 8, Time: time}, Raw: raw}
}

// started is the kernel's record of a program that thread old has started, as process 7.
func started(time uint64, old uint32, filename string, argv ...string) *perfevent.Sample {
	raw := make([]byte, 20)
	binary.LittleEndian.PutUint32(raw[8:], uint32(len(raw))|uint32(len(filename)+1)<<16)
	binary.LittleEndian.PutUint32(raw[12:], 7)
	binary.LittleEndian.PutUint32(raw[16:], old)
	raw = append(append(raw, filename...), 0)
	const sp, gap = 0x9000, 64
	stack := binary.LittleEndian.AppendUint64(nil, uint64(len(argv)))
	text := []byte{}
	for _, arg := range argv {
		stack = binary.LittleEndian.AppendUint64(stack, uint64(sp+8*(len(argv)+2)+gap+len(text)))
		text = append(append(text, arg...), 0)
	}
	stack = append(append(stack, make([]byte, 8+gap)...), text...)
	return &perfevent.Sample{
		Header: perfevent.Header{PID: 7, TID: 7, Time: time}, Sampling: 1, Raw: raw, Stack: stack,
		Regs: perfevent.Registers{ABI: 2, Mask: 1 << stackPointer, Values: []uint64{sp}},
	}
}

func TestAProgramThatWasStartedTellsTheTextsOfItsCall(t *testing.T) {
	gone := fakeMemory{}
	other := execve(150)
	binary.LittleEndian.PutUint64(other.Raw[24:], 0x7000)
	for _, test := range []struct {
		name   string
		memory fakeMemory
		before []*perfevent.Sample
		want   string
	}{
		{"a program", gone, []*perfevent.Sample{execve(100), started(200, 8, "/bin/echo", "echo", "a b")}, `0x5000 "/bin/echo", argv: 0x6000 ["echo", "a b"]`},
		{"the record of another CPU comes first", gone, []*perfevent.Sample{started(200, 8, "/bin/echo", "echo"), execve(100)}, `0x5000 "/bin/echo", argv: 0x6000 ["echo"]`},
		{"another thread's program", gone, []*perfevent.Sample{execve(100), started(200, 9, "/bin/echo", "echo")}, `0x5000, argv: 0x6000`},
		{"a search for the program", gone, []*perfevent.Sample{execve(100), execve(150), started(200, 8, "/bin/echo", "echo")}, `0x5000, argv: 0x6000 ~["echo"]`},
		{"the program of the next call", gone, []*perfevent.Sample{execve(100), other, started(200, 8, "/bin/echo", "echo")}, `0x5000, argv: 0x6000`},
		{"a script", gone, []*perfevent.Sample{execve(100), started(200, 8, "./x.sh", "/bin/sh", "-e", "./x.sh", "arg")}, `0x5000 "./x.sh", argv: 0x6000 ~["./x.sh", "arg"]`},
		{"a program that is given its own name", gone, []*perfevent.Sample{execve(100), started(200, 8, "/bin/ls", "ls", "/bin/ls")}, `0x5000 "/bin/ls", argv: 0x6000 ["ls", "/bin/ls"]`},
		{"no arguments", gone, []*perfevent.Sample{execve(100), started(200, 8, "/bin/ls")}, `0x5000 "/bin/ls", argv: 0x6000`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := starting(t, test.memory, "execve", "const char *", "filename", "const char *const *", "argv")
			for _, s := range test.before {
				r.seen(s)
			}
			if got, want := r.line(execve(100)), "sys_execve(filename: "+test.want+")"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// A busy machine takes longer to start a program than records wait to be handed on.
func TestACallWaitsForTheRecordOfItsProgram(t *testing.T) {
	r := starting(t, fakeMemory{}, "execve", "const char *", "filename", "const char *const *", "argv")
	r.seen(execve(100))
	go r.seen(started(200, 8, "/bin/ls", "ls"))
	if got := r.line(execve(100)); !strings.Contains(got, `"/bin/ls"`) {
		t.Errorf("the line is %s", got)
	}
}

func TestMissingTextsAreCounted(t *testing.T) {
	r := starting(t, fakeMemory{}, "execve", "const char *", "filename", "const char *const *", "argv")
	for _, s := range []*perfevent.Sample{execve(100), started(200, 8, "/bin/echo", "echo"), execve(300)} {
		r.seen(s)
	}
	r.line(execve(100))
	r.seen(&perfevent.Exit{PID: execve(300).PID, TID: execve(300).TID})
	r.line(execve(300))
	if a := r.attachment; a.Texts != 4 || a.Missing != 2 {
		t.Errorf("%d of %d texts are missing, want 2 of 4", a.Missing, a.Texts)
	}
	if n := len(r.execs.threads); n > 0 {
		t.Errorf("%d threads are kept", n)
	}
}

func TestANameBelowADirectoryIsTheCalls(t *testing.T) {
	for _, test := range []struct {
		name string
		fd   int32
		want string
	}{
		{"/dev/fd/3/x/y", 3, "x/y"}, {"/dev/fd/3", 3, ""}, {"/dev/fd/31", 3, "/dev/fd/31"}, {"x", -100, "x"},
	} {
		if got := relative(test.name, test.fd); got != test.want {
			t.Errorf("%s with %d is %q, want %q", test.name, test.fd, got, test.want)
		}
	}
}

// FuzzStarted holds that no record of a program that was started ends in a panic.
func FuzzStarted(f *testing.F) {
	s := started(200, 8, "/bin/echo", "echo", "a b")
	f.Add(s.Raw, s.Stack, uint64(0x9000), uint64(2))
	f.Fuzz(func(t *testing.T, raw, stack []byte, sp, abi uint64) {
		r := starting(t, fakeMemory{0: make([]byte, page)}, "execve", "const char *", "filename", "const char *const *", "argv")
		s := started(200, 8, "")
		s.Raw, s.Stack, s.Regs.Values, s.Regs.ABI = raw, stack, []uint64{sp}, abi
		r.seen(execve(100))
		r.seen(s)
		r.line(execve(100))
	})
}
