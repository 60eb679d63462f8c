package exacttext

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// asCaller makes this test the program whose calls are read.
const asCaller = "RINGTAP_TEST_CALLER"

func TestMain(m *testing.M) {
	near.Serve(map[string]near.New{Visitor: NewVisitors()})
	if os.Getenv(asCaller) != "" {
		callAll()
		return
	}
	os.Exit(m.Run())
}

// callAll makes calls as fast as it can, once it has read a line.
func callAll() {
	name := [...]byte{'/', 'x', 0}
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	_, _ = in.ReadString('\n')
	for range testlimit.Calls(20000) {
		_, _, _ = unix.Syscall(unix.SYS_READLINKAT, ^uintptr(0), uintptr(unsafe.Pointer(&name)), 0)
	}
	fmt.Println("done")
	_, _ = in.ReadString('\n')
}

// A storm of calls puts the reader to rest, and it says since when.
func TestLiveAStormPutsTheReaderToRest(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints are root's")
	}
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Skip(err)
	}
	format, err := tracefs.Format("syscalls", "sys_enter_readlinkat")
	if err != nil {
		t.Skipf("no tracepoints of system calls: %v", err)
	}
	caller := exec.Command("/proc/self/exe")
	caller.Env = append(os.Environ(), asCaller+"=1")
	in, err := caller.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := caller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, caller)
	defer caller.Wait()
	defer in.Close()
	said := bufio.NewScanner(out)
	said.Scan()
	at := perfevent.Sampling{Event: perfevent.Tracepoint(uint64(format.ID), "syscalls:sys_enter_readlinkat"), Period: 1}
	began := perfevent.Now()
	r, err := Start(perfevent.Process(caller.Process.Pid), []Sampling{{Sampling: at,
		Texts: []Text{{Offset: format.Field("pathname").Offset, Limit: 100}}}}, Options{Share: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	if since, _ := r.Rested(); since != 0 {
		t.Error("it has rested before anything happened")
	}
	fmt.Fprintln(in)
	said.Scan()
	since, lasted := r.Rested()
	if since < began || since > perfevent.Now() || lasted <= 0 {
		t.Errorf("it rests since %d, for %v", since, lasted)
	}
	t.Logf("it rested %d ns after its start, for %v", since-began, lasted)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
