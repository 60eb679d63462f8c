package profiler_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/llc"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// faultsSource touches as many new pages as it is told in each of two threads, and prints how many minor
// faults the kernel charged them for that: it may take a page away again and count another one.
const faultsSource = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
static long faults(void) { struct rusage u; getrusage(RUSAGE_THREAD, &u); return u.ru_minflt; }
__attribute__((noinline)) void touch(volatile char *p, long n) { for (long i = 0; i < n; i++) p[i * 4096] = 1; __asm__ volatile("" ::: "memory"); }
static void *work(void *n) {
	char *p = mmap(0, (long)n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, (long)n * 4096, MADV_NOHUGEPAGE);
	long before = faults();
	touch(p, (long)n);
	return (void *)(faults() - before);
}
int main(int argc, char **argv) {
	pthread_t t[2];
	void *made[2];
	for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, (void *)atol(argv[1]));
	for (int i = 0; i < 2; i++) pthread_join(t[i], &made[i]);
	printf("%ld", (long)made[0] + (long)made[1]);
	return argc - 2;
}
`

// The kernel's own counters stand in for the CPU's, which few virtual machines show:
// each sample weighs its period, in the threads that came later too.
func TestLiveSamplesOfAPeriodAddUpToTheEvents(t *testing.T) {
	needRoot(t)
	const pages, period = 20000, 100
	dir := t.TempDir()
	program := filepath.Join(dir, "faults")
	if err := os.WriteFile(program+".c", []byte(faultsSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-static", "-O1", "-pthread", "-o", program, program+".c").CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	var printed strings.Builder
	cmd := exec.Command(program, strconv.Itoa(pages))
	cmd.Stdout = &printed
	command, err := perfevent.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer command.Kill()
	collector := llc.New(period, stack.Stacks{User: true, Unwind: stack.Auto})
	collector.Misses = perfevent.Software(perfevent.SoftwareMinorFaults)
	collector.References = perfevent.Software(perfevent.SoftwarePageFaults)
	result, err := profiler.Run(context.Background(), profiler.Options{
		Target: perfevent.Started(command), Collectors: []table.Collector{collector},
		Whole: true, Memory: 64 << 20, Report: func(*profile.Profile) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	made, err := strconv.ParseUint(printed.String(), 10, 64)
	if err != nil || made < 2*pages {
		t.Fatalf("%d pages were touched in %q faults: %v", 2*pages, printed.String(), err)
	}
	var all, touched uint64
	for _, row := range result.Whole.Rows {
		n := row.Values[0] + row.Values[1]
		all += n
		if row.User >= 0 {
			if frames := result.Whole.Stacks[row.User].Frames; result.Whole.Frames[frames[len(frames)-1]].Name == "touch" {
				touched += n
			}
		}
	}
	// What is left of a period is no sample. Each CPU has an event, or each of the program's three
	// threads has one for each CPU, which counts on where the thread comes back to that CPU.
	left := uint64(2 * 3 * runtime.NumCPU() * period)
	account := result.Accounts[0]
	counted := account.Counted + account.Others // Counted leaves out one event for each sample of another program
	if sum := all + account.Others*period; sum > counted || sum+left < counted {
		t.Errorf("the samples weigh %d, the kernel counted %d: %+v", sum, counted, account)
	}
	if elsewhere := all - touched; elsewhere > left {
		t.Errorf("%d faults are not below touch", elsewhere)
	}
	// An event that watches a CPU counts other programs too: a period that they began may end in touch,
	// and the other way round.
	others := counted - 2*made
	if touched > 2*made+others || touched+others+left < 2*made {
		t.Errorf("%d faults are below touch, which makes %d, and others %d: %+v", touched, 2*made, others, account)
	}
	misses, references := collector.Shared()
	if misses.Enabled == 0 || misses.Counted < misses.Enabled*99/100 || references.Counted < references.Enabled*99/100 {
		t.Errorf("the kernel's counters are shared: %+v, %+v", misses, references)
	}
}
