package main

import (
	"slices"
	"testing"
)

// jumpingSource reads from two places, by functions that end in a jump to the next, so
// that their returns are seen by the kernel's return probe only: it replaces the return
// address on the stack, for both of them the same one.
const jumpingSource = `
#include <unistd.h>
#define PLACE __attribute__((noinline))
#define STAYS __asm__ volatile("")
static char byte;
PLACE int last(int fd) { int n = read(fd, &byte, 1); STAYS; return n; }
PLACE int jumps_again(int fd) { STAYS; return last(fd); }
PLACE int jumps(int fd) { STAYS; return jumps_again(fd); }
PLACE int one(int fd) { int n = jumps(fd); STAYS; return n; }
PLACE int other(int fd) { int n = jumps(fd) + 1; STAYS; return n; }
PLACE int deep(int fd, int depth) { int n = depth ? deep(fd, depth - 1) : one(fd); STAYS; return n; }
int main(void) {
	int fds[2];
	if (pipe(fds))
		return 1;
	for (int i = 0; i < 30; i++) {
		if (write(fds[1], &byte, 1) != 1)
			return 2;
		if (i % 3 == 0)
			other(fds[0]);
		else
			deep(fds[0], i % 5);
	}
	return 0;
}
`

func TestLiveStacksGoOnWhereReturnsAreProbed(t *testing.T) {
	needTracefs(t, "uprobe_events")
	needTracefs(t, "events/raw_syscalls/sys_enter/format")
	program := compile(t, "gcc", jumpingSource, "-O2")
	p, stdout, stderr := probeRun(t, program+":jumps*", "io", "-u", "--", program)
	for function, want := range map[string]uint64{"last": 30, "other": 10, "one": 20, "deep": 20, "main": 60} {
		if got := p.below("IOCount", function); got != want {
			t.Errorf("%d reads and writes below %s, want %d", got, function, want)
		}
	}
	if got := p.below(program+":jumps*Count", "main"); got != 60 {
		t.Errorf("%d calls below main, want 60", got)
	}
	if t.Failed() {
		t.Log(stdout, stderr)
	}
}

// below adds up a column of the rows whose user stack has a function.
func (p *probedProfile) below(name, function string) (total uint64) {
	column := slices.IndexFunc(p.Metrics, func(m struct{ Name string }) bool { return m.Name == name })
	for _, row := range p.Rows {
		has := func(frame int) bool { return p.Frames[frame].Name == function }
		if row.User >= 0 && slices.ContainsFunc(p.Stacks[row.User].Frames, has) {
			total += row.Values[column]
		}
	}
	return total
}
