package snapshot

import (
	"bufio"
	"os/exec"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// TestLiveAThreadThatSleepsInMuslIsFoundWithItsCallers: neither musl nor the program say
// how their code is unwound, and most of musl's functions have no name.
func TestLiveAThreadThatSleepsInMuslIsFoundWithItsCallers(t *testing.T) {
	const source = `
#include <stdio.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) int doze(int n) { struct timespec t = {n, 0}; write(1, "\n", 1); n = nanosleep(&t, 0); __asm__ volatile("" ::: "memory"); return n; }
__attribute__((noinline)) int outer(int n) { n = doze(n); __asm__ volatile("" ::: "memory"); return n + 1; }
int main(void) { return outer(1000) == 0; }
`
	path := compiled.Program(t, map[string]string{"sleep.c": source},
		"musl-gcc", "-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer", "-o", "sleep", "sleep.c")
	cmd := exec.Command(path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadByte(); err != nil {
		t.Fatal(err)
	}
	s := take(t, Options{}, cmd.Process.Pid)
	for len(s.Threads) == 1 && s.Threads[0].State == 'R' { // on its way to sleep
		s = take(t, Options{}, cmd.Process.Pid)
	}
	if len(s.Threads) != 1 {
		t.Fatalf("%d threads, want one", len(s.Threads))
	}
	thread := s.Threads[0]
	all := functions(thread)
	own := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "" || name == "clock_nanosleep" })
	if want := []string{"nanosleep", "doze", "outer", "main", "_start"}; !slices.Equal(own, want) || thread.Truncated {
		t.Errorf("the stack has %q, cut short %v; want %q beside those without a name", all, thread.Truncated, want)
	}
}
