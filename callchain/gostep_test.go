//go:build amd64

package callchain

import (
	"slices"
	"testing"
)

// TestLiveEveryInstructionOfAGoProgramUnwinds steps a goroutine through, and
// compares both ways to its chain: by the copied stack, and by the kernel's
// chain with 128 bytes of stack.
func TestLiveEveryInstructionOfAGoProgramUnwinds(t *testing.T) {
	program := buildGo(t, []string{"CGO_ENABLED=0"}, "gosteps.go", "-ldflags=-s -w")
	env := []string{"GODEBUG=asyncpreemptoff=1", "GOGC=off"} // no signals, no moving
	tr := startTracee(t, env, program, "trap")
	u := New(AMD64)
	tr.top = 1 << 63
	tr.runToTrap(t, u, 3) // main.main, runtime.main, runtime.goexit
	// The trap is in runtime.Breakpoint, which returns to main.main first.
	top := tr.regs.Rsp
	tr.shadow, tr.base = []shadowFrame{{slot: top, pc: tr.word(top)}}, tr.base[1:]
	var c Capture
	steps, moving, bare := 0, 0, 0
	tr.top = top + 4096
	for ; !tr.onStack() || tr.regs.Rsp <= top+8; steps++ {
		if !tr.onStack() { // the runtime's own
			tr.step(t, 0)
			continue
		}
		tr.capture(t, &c, 8<<10)
		want := tr.truth(nil)
		got, end := u.Unwind(nil, tr.space, &c)
		c.Stack = c.Stack[:128]
		c.Chain = tr.kernelChain(c.Chain[:0])
		walked, walkedEnd := u.Auto(nil, tr.space, &c)
		switch {
		case end == Complete && walkedEnd == Complete && slices.Equal(got, want) && slices.Equal(walked, want):
		case tr.moving():
			moving++
		case tr.bare(want): // the runtime leaves the stack
			bare++
		default:
			t.Errorf("step %d: chain is %v, by frame pointer %v\n got%s\n and%s\nwant%s", steps, end, walkedEnd,
				tr.where(got), tr.where(walked), tr.where(want))
		}
		tr.step(t, 0)
	}
	t.Logf("%d positions, %d of them moving, %d not on the goroutine's stack", steps, moving, bare)
	if (moving+bare)*20 > steps {
		t.Error("too many positions are excused")
	}
}
