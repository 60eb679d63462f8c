package profiler_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// A program that calls hit 2*CALLS times from each of four threads, half of it
// through deep, whose frames no small copy of the stack holds.
const hitsProgram = `
#include <pthread.h>
__attribute__((noinline)) void hit(void) { __asm__ volatile(""); }
__attribute__((noinline)) void deep(void) { volatile char big[3000]; big[0] = 1; hit(); big[1] = 1; }
static void *work(void *unused) {
	for (int i = 0; i < CALLS; i++) { hit(); deep(); }
	return unused;
}
int main(void) {
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}
`

func TestLiveEveryHitOfAProbeIsCountedOnItsStack(t *testing.T) {
	needRoot(t)
	times := testlimit.Calls(30000)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "hits.c"), filepath.Join(dir, "hits")
	if err := os.WriteFile(source, []byte(hitsProgram), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", fmt.Sprintf("-DCALLS=%d", times), "-O1", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	spec, err := probe.ParseUser("p:" + program + ":hit")
	if err != nil {
		t.Fatal(err)
	}
	command, err := perfevent.StartCommand(exec.Command(program))
	if err != nil {
		t.Fatal(err)
	}
	target := perfevent.Started(command)
	set, err := probe.Open(spec, probe.Options{Target: target})
	if err != nil {
		command.Kill()
		t.Skipf("user probes: %v", err)
	}
	defer set.Close()
	result, err := profiler.Run(context.Background(), profiler.Options{
		Target:     target,
		Collectors: []table.Collector{&calls.Hits{Spec: "hit", Sources: set.Sources, Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}}},
		Whole:      true, Memory: 64 << 20,
		Logger: slog.New(slog.DiscardHandler),
		Report: func(*profile.Profile) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	each := uint64(4 * times)
	counts := make(map[string]uint64)
	for _, row := range result.Whole.Rows {
		counts[caller(result.Whole, row)] += row.Values[0]
	}
	account := result.Accounts[0]
	// If records are lost while the copies of the stack grow, the account is not exact: a lost
	// record may be the second one of a hit that was received.
	if all := counts["work"] + counts["deep"]; all > 2*each || all+account.Lost < 2*each || account.Exact && all+account.Lost != 2*each {
		t.Errorf("%d hits on their stacks and %d lost, of %d", all, account.Lost, 2*each)
	}
	for name, n := range counts {
		if n > each || n+account.Lost < each {
			t.Errorf("%d hits below %q with %d lost, want %d", n, name, account.Lost, each)
		}
	}
	// See perfevent's growth: a hit that comes while the copies of the stack grow may
	// be counted twice.
	const growths = 8
	if all := account.Received + account.Lost; account.Exact && (account.Counted < all || account.Counted > all+growths) {
		t.Errorf("%d samples were received and %d lost, of %d", account.Received, account.Lost, account.Counted)
	}
	if cut := account.Truncated + account.Joined; cut == 0 || cut > account.Received {
		t.Errorf("%d of %d stacks are cut: the first copies are too small for deep's frame", cut, account.Received)
	}
}

// caller is the function that called the probed one.
func caller(p *profile.Profile, row profile.Row) string {
	if row.User == profile.None {
		return ""
	}
	frames := p.Stacks[row.User].Frames
	if n := len(frames); n >= 2 && strings.HasPrefix(p.Frames[frames[n-1]].Name, "hit") {
		return p.Frames[frames[n-2]].Name
	}
	return ""
}
