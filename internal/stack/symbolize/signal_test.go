package symbolize_test

import (
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// Debian's C library has no symbol for the code that signal handlers return to.
func TestWhatAStrippedLibrarysSignalHandlersReturnToIsASignal(t *testing.T) {
	dir := compiled.Recipe{
		Sources: map[string]string{"restore.c": `
#ifdef __x86_64__
__asm__(".text\n nop\n restore: mov $15, %rax\n syscall\n .size restore, . - restore\n .type restore, @function\n");
#else
__asm__(".text\n nop\n restore: mov x8, #139\n svc #0\n .size restore, . - restore\n .type restore, @function\n");
#endif
int other(int n) { return n + 1; }
`},
		Commands: [][]string{
			{"gcc", "-shared", "-nostdlib", "-fPIC", "-fvisibility=hidden", "-o", "restore.so", "restore.c"},
			{"strip", "-o", "stripped.so", "restore.so"},
		},
	}.Dir(t)
	restore := offsetOf(t, filepath.Join(dir, "restore.so"), "restore")
	other := offsetOf(t, filepath.Join(dir, "restore.so"), "other")
	p := symbolizer(t, symbolize.Options{}).Profile(set([]*stack.Image{fileImage(t, filepath.Join(dir, "stripped.so"))}, []callchain.Frame{
		{Object: 1, Return: true, Offset: restore - 1}, // the handler's caller
		{Object: 1, Offset: restore},
		{Object: 1, Offset: other},
	}), nil)
	for i, want := range []bool{true, true, false} {
		if f := p.Frames[i]; (f.Name == "[signal]") != want || want && (f.Unnamed || f.Offset != 0) {
			t.Errorf("%d: %+v", i, f)
		}
	}
}
