package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// hot is a program that calls the function hit from two callers until it is killed. Each caller keeps more on its
// stack than ringtap copies in a storm, so that only whole stacks seen before complete those that are cut short.
const hot = `
__attribute__((noinline)) void hit(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void left(void) { volatile char room[800]; room[0] = 1; hit(); room[1] = 1; }
__attribute__((noinline)) void right(void) { volatile char room[800]; room[0] = 1; hit(); room[1] = 1; }
int main(void) {
	for (unsigned i = 0;; i++) {
		if (i % 4) left(); else right();
	}
}
`

// smallHits is how many hits with small copies of the stack end the test.
const smallHits = 10_000

// stormHandler counts hits by their stacks, until enough of them had small copies of the stack.
type stormHandler struct {
	stacks map[uint64]int // hits by the number of their stack
	small  int            // hits whose copies are smaller than the first ones
}

func (h *stormHandler) Start(uint64) bool { return true }

func (h *stormHandler) Hit(_ int, of *eval.Hit) bool {
	h.stacks[of.Values.Value(0).N]++
	if len(of.Values.(*hit).sample.Stack) < aggregatedCopy {
		h.small++
	}
	return h.small < smallHits
}

func (h *stormHandler) Lost()               {}
func (h *stormHandler) Due() (uint64, bool) { return 0, false }
func (h *stormHandler) Tick() bool          { return true }

func TestLiveCopiesShrinkInAStormAndStacksStayWhole(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: user probes")
	}
	path := compiled.Program(t, map[string]string{"hot.c": hot}, "gcc", "-O1", "-g", "-o", "hot", "hot.c")
	program := exec.Command(path)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, program)
	defer func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	}()
	parsed, err := syntax.Parse("", fmt.Sprintf(`uprobe:%s:hit { @[ustack] = count(); }`, path), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := check.Check(parsed, check.Options{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	events, errs := plan.Make(checked, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	a, err := Attach(checked, events, Options{Target: perfevent.Process(program.Process.Pid)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, s := range a.sources {
		s.stacks.Budget = 1 // every flood of hits is a storm, however slow the machine is
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	h := &stormHandler{stacks: make(map[uint64]int)}
	account, err := a.Run(ctx, h)
	if err != nil {
		t.Fatal(err)
	}
	if h.small < smallHits {
		t.Fatalf("%d hits have copies of less than %d bytes, want %d: copies stay large in a storm", h.small, aggregatedCopy, smallHits)
	}
	want := regexp.MustCompile(`^hit (left|right) main .*_start$`)
	for number, n := range h.stacks {
		var names []string
		for _, line := range a.stacks.lines(number, "") {
			name, _, _ := strings.Cut(line, "+")
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
		if stack := strings.Join(names, " "); !want.MatchString(stack) {
			t.Errorf("%d hits have the stack %q, which does not match %s", n, stack, want)
		}
	}
	if account.Cut > 0 {
		t.Errorf("%d stacks are cut short", account.Cut)
	}
}
