package allocator

import (
	"testing"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/uprobe"
)

func TestEventsTellFunctionsApart(t *testing.T) {
	// The second file has its functions at the same places of pages.
	var all []Probe
	for file, base := range []uint64{0x10000, 0x20000} {
		for i, name := range []string{"malloc", "posix_memalign", "free", "mmap"} {
			all = append(all, Probe{Function: Named(name), entry: uprobe.Site{KernelPath: string(rune('a' + file)), Offset: base + uint64(i)*32, Entry: i != 1}})
		}
	}
	groups := groups(all, true)
	named := make(map[string]int)
	for i, g := range groups {
		named[g.name]++
		if i > 0 && g.Role == probe.Return && groups[i-1].Role != probe.Return {
			t.Errorf("a call can begin before its end is watched")
		}
		for k, site := range g.sites {
			ends := g.Role == probe.Return
			if site.Return != ends || !ends && g.Called(0x7f0000000000+site.Offset) != g.of[k] {
				t.Errorf("%s: %+v is another's", g.name, site)
			}
		}
		if g.name == "alloc" && g.AtEntry {
			t.Error("one of the places is not where its function begins")
		}
	}
	for _, g := range groups {
		for k, site := range g.sites {
			if sized := g.name == "alloc"; len(site.Args) > 0 != sized || g.of[k].maps() && g.Role == probe.Enter && !g.Large {
				t.Errorf("%s in %s: fields %v, large %v", g.of[k].Name, g.name, site.Args, g.Large)
			}
		}
	}
	if named["allocated"] != 1 || named["allocated_through"] != 1 || named["alloc"] != 2 || named["free"] != 2 {
		t.Errorf("%v events by name", named)
	}
}

func TestEveryFunctionSaysWhatItDoes(t *testing.T) {
	seen := make(map[string]bool)
	for i := range functions {
		f := &functions[i]
		takes := f.Effect == Frees || f.Effect == Reallocates || f.Effect == Unmaps || f.Effect == Remaps
		if seen[f.Name] || takes != (f.Pointer != 0) || f.Effect != Frees && f.Size == 0 || f.Pointer != 0 && f.Through != 0 {
			t.Errorf("%+v", *f)
		}
		seen[f.Name] = true
	}
}
