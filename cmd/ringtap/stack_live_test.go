package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
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

// startReady starts a command that prints "ready" once it does what it is for. It ends with the test.
func startReady(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	ready, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(ready).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
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

// deadlocked is a program whose threads worker and io wait for each other: main joins worker, a
// client waits for the worker's mutex, and seven threads have nothing to do with it. With an
// argument, main waits for a mutex that it holds.
const deadlocked = `
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both, all;
__attribute__((noinline)) void transfer(void) { pthread_mutex_lock(&accounts); pthread_barrier_wait(&both); pthread_mutex_lock(&journal); }
__attribute__((noinline)) void flush(void) { pthread_mutex_lock(&journal); pthread_barrier_wait(&both); pthread_barrier_wait(&all); pthread_mutex_lock(&accounts); }
static void *worker(void *x) { prctl(PR_SET_NAME, "worker"); transfer(); return x; }
static void *io(void *x) { prctl(PR_SET_NAME, "io"); flush(); return x; }
static void *client(void *x) { prctl(PR_SET_NAME, "client"); pthread_barrier_wait(&all); pthread_mutex_lock(&accounts); return x; }
static void *idle(void *x) { prctl(PR_SET_NAME, "idle"); pause(); return x; }
int main(int argc, char **argv)
{
	pthread_t t[10];
	pthread_barrier_init(&both, NULL, 2);
	pthread_barrier_init(&all, NULL, 3);
	if (argc > 1) {
		pthread_mutex_lock(&accounts);
		puts("ready");
		fflush(stdout);
		pthread_mutex_lock(&accounts);
	}
	pthread_create(&t[0], NULL, worker, NULL);
	pthread_create(&t[1], NULL, io, NULL);
	pthread_create(&t[2], NULL, client, NULL);
	for (int i = 3; i < 10; i++)
		pthread_create(&t[i], NULL, idle, NULL);
	pthread_barrier_wait(&all);
	puts("ready");
	fflush(stdout);
	pthread_join(t[0], NULL);
}
`

// A newcomer sees the last screen of what is printed.
func TestLiveADeadlockIsTheLastThingOnALowScreen(t *testing.T) {
	dir := compiled.Recipe{
		Sources:  map[string]string{"deadlocked.c": deadlocked},
		Commands: [][]string{{"gcc", "-O1", "-g", "-pthread", "-o", "deadlocked", "deadlocked.c"}},
	}.Dir(t)
	for _, test := range []struct{ argument, shown, verdict string }{
		{"", `thread \d+ worker: .*\n  user   pthread_mutex_lock\+.*\n         transfer\+.*\n         worker\+.*\n\n` +
			`thread \d+ io: .*\n  user   pthread_mutex_lock\+.*\n         flush\+.*\n         io\+.*\n\n` +
			`not shown: 9 threads \(--all shows every one\)\n`,
			`thread (\d+) \(client\) waits for mutex accounts held by thread (\d+) \(worker\), which is in the deadlock ` +
				`thread (\d+) \(deadlocked\) waits for the end of thread (\d+) \(worker\), which is in the deadlock ` +
				`deadlock: thread (\d+) \(worker\) waits for mutex journal held by thread (\d+) \(io\), which waits for mutex accounts held by thread (\d+) \(worker\)`},
		{"self", `thread \d+ deadlocked: .*\n  user   pthread_mutex_lock\+.*\n         main\+.*\n`,
			`deadlock: thread (\d+) \(deadlocked\) waits for mutex accounts, which it holds itself`},
	} {
		cmd := exec.Command(filepath.Join(dir, "deadlocked"))
		if test.argument != "" {
			cmd.Args = append(cmd.Args, test.argument)
		}
		startReady(t, cmd)
		want := regexp.MustCompile(`^process \d+ deadlocked: .*\n.*\n\n` + test.shown + `\n((?s:.*))$`)
		verdict := regexp.MustCompile("^" + test.verdict + "$")
		var out, errs bytes.Buffer
		sentences := ""
		for end := time.Now().Add(testlimit.End); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			out.Reset()
			if code := run(t.Context(), []string{"stack", "--deadlock", fmt.Sprint(cmd.Process.Pid)}, &console{stdout: &out, stderr: &errs, width: 80, height: 24}); code != exitDone {
				t.Fatalf("code %d, %s", code, &errs)
			}
			if parts := want.FindStringSubmatch(out.String()); parts != nil {
				if sentences = strings.Join(strings.Fields(parts[1]), " "); verdict.MatchString(sentences) {
					break // all threads are in their waits
				}
			}
		}
		if !verdict.MatchString(sentences) {
			t.Errorf("%q: it ends with %q", test.argument, sentences)
		}
		if lines := strings.Count(out.String(), "\n"); lines > 23 {
			t.Errorf("%q: %d lines and a prompt are more than a screen of 24", test.argument, lines)
		}
		if t.Failed() {
			t.Log(out.String())
		}
	}
}
