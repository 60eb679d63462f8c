package symbolize_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// Each window has addresses that the ones before had not, and a module that came
// meanwhile.
func TestLaterWindowsFindOtherKernelFunctions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kallsyms")
	text := "ffffffff81000000 T first\nffffffff81000100 T second\nffffffff81000200 T third\nffffffff81000300 T end\n"
	write := func() {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write()
	s := symbolizer(t, symbolize.Options{Host: process.Host{Proc: filepath.Dir(path)}})
	name := func(addrs ...uint64) (all []string) {
		var frames []callchain.Frame
		for _, addr := range addrs {
			frames = append(frames, callchain.Frame{Object: callchain.Kernel, Offset: addr})
		}
		return names(s.Profile(set(nil, frames), nil), 0)
	}
	const unknown = 0xfffffffff0000000
	s.ReadAhead()
	if got := name(unknown, 0xffffffff81000010); got[0] != "first" || got[1] != "" {
		t.Errorf("the first window has %q", got)
	}
	text += "ffffffffc0000000 t mod_work\t[mod]\n"
	write()
	if got := name(0xffffffffc0000010, 0xffffffff81000210, unknown, 0xffffffff81000010); got[0] != "first" || got[1] != "" || got[2] != "third" || got[3] != "mod_work" {
		t.Errorf("the second window has %q", got)
	}
	if got := name(0xffffffff81000110, 0xffffffff81000210); got[0] != "third" || got[1] != "second" {
		t.Errorf("the third window has %q", got)
	}
}

// A module that is loaded after the symbols were read ahead has names all the same.
func TestSymbolsReadAheadMayBeOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kallsyms")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const kernel = "ffffffff81000000 T first\nffffffff81000100 T second\n"
	write(kernel)
	s := symbolizer(t, symbolize.Options{Host: process.Host{Proc: filepath.Dir(path)}})
	s.ReadAhead()
	if err := s.Close(); err != nil { // it waits for the reading
		t.Fatal(err)
	}
	write(kernel + "ffffffffc0000000 t mod_work\t[mod]\n")
	p := s.Profile(set(nil, []callchain.Frame{{Object: callchain.Kernel, Offset: 0xffffffffc0000010}, {Object: callchain.Kernel, Offset: 0xffffffff81000010}}), nil)
	if got := names(p, 0); got[0] != "first" || got[1] != "mod_work" || len(p.Notes) > 0 {
		t.Errorf("the functions are %q, notes %q", got, p.Notes)
	}
}
