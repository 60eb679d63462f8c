package uprobe

import (
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// unwoundSource has functions that end in all ways.
const unwoundSource = `
extern "C" {
__attribute__((noinline)) int thrower(int i) { if (i > 5) throw i; return i; }
__attribute__((noinline)) int through(int i) { int r = thrower(i); __asm__ volatile("" : "+r"(r)); return r + 1; }
__attribute__((noinline)) int onwards(int i) { __asm__ volatile("" : "+r"(i)); return thrower(i); }
__attribute__((noinline)) void never(void) { for (;;) __asm__ volatile(""); }
}
int main(int argc, char **) { if (argc > 9) never(); return through(argc) + onwards(argc); }
`

// Only what throws needs it: the kernel's return probes serve C.
func TestReturnsOfWhatThrowsAreProbedOneByOne(t *testing.T) {
	dir := compiled.Recipe{
		Sources: map[string]string{"unwound.cc": unwoundSource},
		Commands: [][]string{
			{"g++", "-o", "shared", "-O2", "unwound.cc"},
			{"g++", "-static", "-o", "static", "-O2", "unwound.cc"},
		},
	}.Dir(t)
	c := build(t, "pie")
	for _, test := range []struct {
		target, function string
		kernels, unwound bool // it is a kernel return probe, and a danger
	}{
		{dir + "/shared", "thrower", false, false},
		{dir + "/shared", "through", false, false},
		{dir + "/shared", "onwards", true, true},
		{dir + "/shared", "never", true, true},
		{dir + "/static", "through", false, false},
		{dir + "/static", "onwards", true, true},
		{c, "main", true, false},
		{"libc", "qsort", true, false},
	} {
		t.Run(filepath.Base(test.target)+" "+test.function, func(t *testing.T) {
			d, err := Parse("r:" + test.target + ":" + test.function)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Resolve(d, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for _, s := range p.Sites {
				if s.Return != test.kernels || s.Unwound != test.unwound || s.Go {
					t.Errorf("%+v", s)
				}
			}
			if (len(p.Notes) > 0) != test.unwound {
				t.Errorf("the notes are %q", p.Notes)
			}
		})
	}
}
