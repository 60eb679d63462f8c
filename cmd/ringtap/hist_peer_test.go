package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// twiceSource waits for the end of its input, calls hit so many times in each of two
// threads, and sleeps five times for ten milliseconds.
const twiceSource = `
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) unsigned hit(unsigned n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
__attribute__((noinline)) void rest(void) { struct timespec t = {0, 10000000}; nanosleep(&t, 0); __asm__ volatile("" ::: "memory"); }
static void *work(void *n) { for (long i = 0; i < (long)n; i++) hit(i); return 0; }
int main(int argc, char **argv) {
	char c;
	pthread_t t[2];
	while (read(0, &c, 1) > 0)
		;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, (void *)atol(argv[1]));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	for (int i = 0; i < 5; i++)
		rest();
	return argc - 2;
}
`

// bpftrace and ringtap watch the same calls of the same program, which knows how
// many there are.
func TestPeerHistCountsWhatBpftraceCounts(t *testing.T) {
	needTracefs(t, "uprobe_events")
	for _, tool := range []string{"bpftrace", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	const calls = 3000
	program := filepath.Join(t.TempDir(), "twice")
	source := program + ".c"
	if err := os.WriteFile(source, []byte(twiceSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-static", "-no-pie", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	cmd := exec.Command(program, strconv.Itoa(calls))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	script := ""
	for _, function := range []string{"hit", "rest"} {
		probe := program + ":" + function
		script += fmt.Sprintf("uprobe:%[1]s { @start[tid] = nsecs; } uretprobe:%[1]s /@start[tid]/ { @%[2]s = hist(nsecs - @start[tid]); delete(@start[tid]); } ", probe, function)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var theirs bytes.Buffer
	bpftrace := exec.CommandContext(ctx, "bpftrace", "-e", script)
	bpftrace.Stdout = &theirs
	if err := bpftrace.Start(); err != nil {
		t.Fatal(err)
	}
	for _, function := range []string{"hit", "rest"} {
		awaitProbe(ctx, t, cmd.Process.Pid, program, function)
	}
	awaitPoll(ctx, t, bpftrace.Process.Pid) // the return probes can't be seen
	text, stderr := runFor(t, &known{cmd: cmd, in: in}, "hist", "-p", "PID", program+":[hr][ie]*t")
	endBpftrace(t, bpftrace)

	for _, test := range []struct {
		function string
		want     uint64
	}{{"hit", 2 * calls}, {"rest", 5}} {
		ours := bucketsOf(t, text, `(?m)^`+test.function+`, nsecs:\n`)
		peers := bucketsOf(t, theirs.String(), `(?m)^@`+test.function+`: *\n`)
		if sum(ours) != test.want || sum(peers) != test.want {
			t.Errorf("%s: %d calls counted here and %d by bpftrace, want %d\n%s%s\n%s", test.function, sum(ours), sum(peers), test.want, text, stderr, theirs.String())
		}
		if test.function == "rest" {
			for _, buckets := range []map[string]uint64{ours, peers} {
				for label := range buckets {
					low, _, _ := strings.Cut(strings.Trim(label, "[()]"), ",")
					if unshort(t, low) < 8<<20 { // ten milliseconds, or as much longer as a busy machine makes it
						t.Errorf("a sleep is in %s:\n%s\n%s", label, text, theirs.String())
					}
				}
			}
		}
	}
}

// awaitProbe waits until there is a probe on a function of a program that is not
// position independent.
func awaitProbe(ctx context.Context, t *testing.T, pid int, program, function string) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for _, s := range symbols {
		if s.Name != function {
			continue
		}
		var before, now [4]byte
		for _, p := range file.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				if _, err := p.ReadAt(before[:], int64(s.Value-p.Vaddr)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for ctx.Err() == nil {
			if _, err := memory.ReadAt(now[:], int64(s.Value)); err != nil {
				t.Fatal(err)
			}
			if now != before {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("no probe has come on %s", function)
	}
	t.Fatalf("%s has no %s", program, function)
}

// bucketsOf reads the buckets below a heading.
func bucketsOf(t *testing.T, text, heading string) map[string]uint64 {
	t.Helper()
	buckets := map[string]uint64{}
	at := regexp.MustCompile(heading).FindStringIndex(text)
	if at == nil {
		return buckets
	}
	text = text[at[1]:]
	line := regexp.MustCompile(`^([[(][^])]*[])]) +(\d+) \|.*\|\n`)
	for m := line.FindStringSubmatch(text); m != nil; m = line.FindStringSubmatch(text) {
		n, err := strconv.ParseUint(m[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			buckets[m[1]] = n
		}
		text = text[len(m[0]):]
	}
	return buckets
}

func sum[K comparable](buckets map[K]uint64) uint64 {
	var all uint64
	for _, n := range buckets {
		all += n
	}
	return all
}
