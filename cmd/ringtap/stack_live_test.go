package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testlimit"
)

// stackOf runs ringtap stack.
func stackOf(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if code := run(context.Background(), append([]string{"stack"}, args...), &console{stdout: &out, stderr: &err}); code != 0 {
		t.Errorf("stack %q: code %d, %s", args, code, &err)
	}
	return out.String(), err.String()
}

func TestLiveStackOfAThreadsNumberIsThatOfItsProcess(t *testing.T) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprint(os.Getpid())
	for _, thread := range threads {
		if thread.Name() == own {
			continue
		}
		stdout, stderr := stackOf(t, "--lines=false", thread.Name(), own)
		if strings.Count("\n"+stdout, "\nprocess ") != 1 || !strings.HasPrefix(stdout, "process "+own+" ") {
			t.Errorf("not process %s once: %s", own, stdout)
		}
		if want := fmt.Sprintf("note: %s is a thread; showing its process %s ", thread.Name(), own); !strings.HasPrefix(stderr, want) {
			t.Errorf("%q, want %q", stderr, want)
		}
		return
	}
	t.Error("this Go program has no second thread")
}

func TestLiveStackOfAZombieNamesWhoHasToAct(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	pid := fmt.Sprint(cmd.Process.Pid)
	for end := time.Now().Add(testlimit.End); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || time.Now().After(end) {
			t.Fatalf("it does not end: %s, %v", stat, err)
		}
		if bytes.Contains(stat, []byte(") Z ")) {
			break
		}
	}
	stdout, _ := stackOf(t, pid)
	if ok, _ := regexp.MatchString(fmt.Sprintf(`^process %s true: has ended; its parent %d \S+ has not asked for its exit status\n`, pid, os.Getpid()), stdout); !ok {
		t.Errorf("%s", stdout)
	}
}
