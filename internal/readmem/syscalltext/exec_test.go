package syscalltext

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/perfevent"
)

// starting is the reading of the calls of execve(2).
func starting(t testing.TB, host process.Host) *reading {
	t.Helper()
	f := formatOf("execve", "const char *", "filename", "const char *const *", "argv")
	f.System = "syscalls"
	r := newReading(t, host, &event{layout: newLayout(f, Params(f))})
	r.execs = &execs{
		filename: &ftrace.Field{Name: "filename", Offset: 8, Size: 4, Location: ftrace.DataLoc, Array: true, String: true},
		oldPID:   &ftrace.Field{Name: "old_pid", Offset: 16, Size: 4},
		reader:   r.reader, progress: athit.NewProgress(), threads: make(map[uint32]*execThread),
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
		Regs: perfevent.Registers{ABI: 2, Mask: arch.Mask(arch.Here.SP), Values: []uint64{sp}},
	}
}

func TestAProgramThatWasStartedTellsTheTextsOfItsCall(t *testing.T) {
	other := execve(150)
	binary.LittleEndian.PutUint64(other.Raw[24:], 0x7000)
	for _, test := range []struct {
		name   string
		before []*perfevent.Sample
		want   string
	}{
		{"a program", []*perfevent.Sample{execve(100), started(200, 8, "/bin/echo", "echo", "a b")}, `0x5000 "/bin/echo", argv: 0x6000 ["echo", "a b"]`},
		{"the record of another CPU comes first", []*perfevent.Sample{started(200, 8, "/bin/echo", "echo"), execve(100)}, `0x5000 "/bin/echo", argv: 0x6000 ["echo"]`},
		{"another thread's program", []*perfevent.Sample{execve(100), started(200, 9, "/bin/echo", "echo")}, `0x5000, argv: 0x6000`},
		{"a search for the program", []*perfevent.Sample{execve(100), execve(150), started(200, 8, "/bin/echo", "echo")}, `0x5000, argv: 0x6000 ~["echo"]`},
		{"the program of the next call", []*perfevent.Sample{execve(100), other, started(200, 8, "/bin/echo", "echo")}, `0x5000, argv: 0x6000`},
		{"a script", []*perfevent.Sample{execve(100), started(200, 8, "./x.sh", "/bin/sh", "-e", "./x.sh", "arg")}, `0x5000 "./x.sh", argv: 0x6000 ~["./x.sh", "arg"]`},
		{"a program that is given its own name", []*perfevent.Sample{execve(100), started(200, 8, "/bin/ls", "ls", "/bin/ls")}, `0x5000 "/bin/ls", argv: 0x6000 ["ls", "/bin/ls"]`},
		{"no arguments", []*perfevent.Sample{execve(100), started(200, 8, "/bin/ls")}, `0x5000 "/bin/ls", argv: 0x6000`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := starting(t, hostWith(t, nil))
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
	r := starting(t, hostWith(t, nil))
	now := perfevent.Now()
	r.seen(execve(now))
	go r.seen(started(now+100, 8, "/bin/ls", "ls"))
	if got := r.line(execve(now)); !strings.Contains(got, `"/bin/ls"`) {
		t.Errorf("the line is %s", got)
	}
}

func TestMissingTextsAreCounted(t *testing.T) {
	r := starting(t, hostWith(t, nil))
	for _, s := range []*perfevent.Sample{execve(100), started(200, 8, "/bin/echo", "echo"), execve(300)} {
		r.seen(s)
	}
	r.line(execve(100))
	r.seen(&perfevent.Exit{PID: execve(300).PID, TID: execve(300).TID})
	r.line(execve(300))
	if r.Texts != 4 || r.Missing != 2 {
		t.Errorf("%d of %d texts are missing, want 2 of 4", r.Missing, r.Texts)
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
	host := hostWith(f, map[int]string{0: ""})
	f.Fuzz(func(t *testing.T, raw, stack []byte, sp, abi uint64) {
		r := starting(t, host)
		s := started(200, 8, "")
		s.Raw, s.Stack, s.Regs.Values, s.Regs.ABI = raw, stack, []uint64{sp}, abi
		r.seen(execve(100))
		r.seen(s)
		r.line(execve(100))
	})
}
