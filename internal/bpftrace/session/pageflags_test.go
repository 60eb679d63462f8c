package session

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

func TestPageFlagsHaveTheNamesOfThePrintFormat(t *testing.T) {
	text, err := os.ReadFile("../../../ftrace/testdata/formats/kmem.mm_page_alloc")
	if err != nil {
		t.Fatal(err)
	}
	const field = "unsigned long gfp_flags;	offset:24;	size:8;"
	narrow := strings.Replace(string(text), field, "gfp_t gfp_flags;	offset:24;	size:4;", 1) // before Linux 6.1
	other := strings.Replace(string(text), "gfp_flags=%s", "flags=%s", 1)
	for _, test := range []struct {
		format string
		flags  uint64
		want   string
	}{
		{string(text), 0xcc0, "GFP_KERNEL"},
		{string(text), 0x400dc0, "GFP_KERNEL_ACCOUNT|__GFP_ZERO"},
		{string(text), 0x100cca, "GFP_HIGHUSER_MOVABLE"},
		{string(text), 0x200, "0x200"},
		{string(text), 0x80000cc0, "GFP_KERNEL|0x80000000"},
		{string(text), 1 << 40, "0x10000000000"},
		{narrow, 0x820, "GFP_ATOMIC"},
		{narrow, 1<<40 | 0x820, "0x10000000820"},
		{strings.Replace(string(text), " gfp_flags;", " flags;", 1), 0x820, "0x820"},
		{other, 0x820, "0x820"},
	} {
		f, err := ftrace.ParseFormat([]byte(test.format))
		if err != nil {
			t.Fatal(err)
		}
		if got := pageFlags(f)(test.flags); got != test.want {
			t.Errorf("%#x is %q, want %q, in\n%.600s", test.flags, got, test.want, test.format)
		}
	}
}

// allocatorText has the kernel allocate for pipes, sockets, processes and pages of its own.
const allocatorText = `#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
	int ends[2];
	for (int i = 0; i < 5; i++) {
		char *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(pages, 1, 1 << 20);
		if (pipe(ends) == 0)
			write(ends[1], pages, 5000);
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0)
			write(ends[1], pages, 20000);
		if (fork() == 0)
			_exit(0);
		wait(NULL);
		munmap(pages, 1 << 20);
	}
	return 0;
}
`

// The kernel prints the same hits in an instance of its trace.
func TestLivePageFlagsAreThoseThatTheKernelPrints(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Fatal(err)
	}
	instance, err := tracefs.NewInstance()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("instances: the kernel has no trace instances")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := instance.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, setting := range [][2]string{
		{"buffer_size_kb", "4096"},
		{"events/kmem/kmalloc/filter", `comm == "ringtapalloc"`},
		{"events/kmem/mm_page_alloc/filter", `comm == "ringtapalloc"`},
		{"events/kmem/kmalloc/enable", "1"},
		{"events/kmem/mm_page_alloc/enable", "1"},
	} {
		if err := instance.Write(setting[0], setting[1]); err != nil {
			t.Fatal(err)
		}
	}
	program := compiled.Program(t, map[string]string{"ringtapalloc.c": allocatorText}, "gcc", "-O1", "-o", "ringtapalloc", "ringtapalloc.c")
	out := startedBy(t, `
		tracepoint:kmem:kmalloc / comm == "ringtapalloc" / { printf("%d kmalloc %d %gr\n", tid, args.bytes_req, args.gfp_flags); }
		tracepoint:kmem:mm_page_alloc / comm == "ringtapalloc" / { printf("%d page %x %gr\n", tid, args.pfn, args.gfp_flags); }`, program)
	text, err := instance.Read("trace")
	if err != nil {
		t.Fatal(err)
	}
	got, want := allocations(out), allocationsOfTrace(text)
	kinds := map[string]bool{}
	for thread, lines := range got {
		// The kernel also prints what the thread did before it ran the program and as it ended.
		if !strings.Contains(want[thread], lines) {
			t.Errorf("thread %s: these allocations\n%s\nare not among those that the kernel printed:\n%s", thread, lines, want[thread])
		}
		for line := range strings.Lines(lines) {
			kinds[line[strings.LastIndex(line, " ")+1:]] = true
		}
	}
	if len(kinds) < 5 {
		t.Errorf("only %d kinds of flags: %v", len(kinds), kinds)
	}
}

// allocations returns lines of "thread event number flags" by the thread.
func allocations(text string) map[string]string {
	threads := map[string]string{}
	for line := range strings.Lines(text) {
		if thread, rest, ok := strings.Cut(line, " "); ok {
			threads[thread] += rest
		}
	}
	return threads
}

// allocationsOfTrace returns the same of the kernel's text.
func allocationsOfTrace(text string) map[string]string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		head, values, ok := strings.Cut(line, ": call_site=")
		event, number := "kmalloc", "bytes_req="
		if !ok {
			if head, values, ok = strings.Cut(line, ": page="); !ok {
				continue
			}
			event, number = "page", "pfn=0x"
		}
		_, thread, _ := strings.Cut(strings.Fields(head)[0], "-")
		lines.WriteString(thread + " " + event + " " + wordAfter(values, number) + " " + wordAfter(values, "gfp_flags=") + "\n")
	}
	return allocations(lines.String())
}

// wordAfter returns what stands between name and the next blank.
func wordAfter(text, name string) string {
	_, text, _ = strings.Cut(text, name)
	return strings.Fields(text + " .")[0]
}
