package session

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// nobody is a user without rights.
const nobody = 65534

// TestOrdinaryUser is what the live test runs as such a user: programs that watch a process of
// his own.
func TestOrdinaryUser(t *testing.T) {
	if os.Getenv("SESSION_ORDINARY") == "" {
		t.Skip("this is a program of the live tests")
	}
	paranoid, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		t.Fatal(err)
	}
	excluded := strings.TrimSpace(string(paranoid)) != "1"
	for _, test := range []struct{ text, want, note string }{
		{`software:page-faults:1 { @ = count(); } BEGIN { printf("ready\n"); }`, "ready\n\n\n@: ", "hits in the kernel are not seen:"},
		{`software:page-faults:1 { @[kstack] = count(); } BEGIN { printf("ready\n"); }`, "ready\n\n\n@[", "kstack is empty:"},
		{`BEGIN { printf("ready\n"); } interval:ms:1 { @ = 1; exit(); }`, "ready\n\n\n@: 1\n", ""},
	} {
		out, errors, err := ranAsOrdinary(t, test.text)
		if err != nil || !strings.HasPrefix(out, test.want) || strings.Contains(out, "@: 0") {
			t.Errorf("%s: %v\n%s\n%s", test.text, err, out, errors)
		}
		if said := errors != ""; said != (excluded && test.note != "") || said && !strings.Contains(errors, test.note) {
			t.Errorf("%s: %s", test.text, errors)
		}
	}
	system := perfevent.System()
	o := Options{Text: "software:page-faults:1 { @ = count(); }", Target: &system, Stdout: io.Discard, Stderr: io.Discard}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "needs root, CAP_PERFMON") {
		t.Errorf("the whole system: %v", err)
	}
}

// ranAsOrdinary runs a program beside a shell, which works when the program says that it is ready and
// then ends.
func ranAsOrdinary(t *testing.T, text string) (out, errors string, err error) {
	t.Helper()
	shell := exec.Command("/bin/sh", "-c", "read line; i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; /bin/true")
	input, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		input.Close()
		_ = shell.Wait()
	})
	defer end()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	target := perfevent.Process(shell.Process.Pid)
	var stderr bytes.Buffer
	stdout := &awaited{text: "ready\n", then: func() { go end() }}
	_, err = Run(ctx, Options{Text: text, Quiet: true, Target: &target, Stdout: stdout, Stderr: &stderr})
	return stdout.String(), stderr.String(), err
}

func TestLiveAnOrdinaryUserWatchesHisOwnProcesses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: to become an ordinary user")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestOrdinaryUser$", "-test.v")
	cmd.Env = append(os.Environ(), "SESSION_ORDINARY=1")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
