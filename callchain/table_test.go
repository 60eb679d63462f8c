package callchain

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRulesDependOnNoOrder asks for the functions of a library in two orders, each
// in several places, and beyond the bound on what is kept.
func TestRulesDependOnNoOrder(t *testing.T) {
	path := libraryPath(t, "libc.so.6")
	first, second := compileFile(t, path), compileFile(t, path)
	var offsets []uint64
	for i := range first.eh.Len() {
		f, ok := first.eh.At(i)
		if !ok {
			continue
		}
		if at, ok := first.place(function{}, f.Start, f.End); ok {
			offsets = append(offsets, at.start, (at.start+at.end)/2, at.end-1, at.end)
		}
	}
	want := map[uint64]*ruleSet{}
	for _, at := range offsets {
		want[at] = first.find(at)
	}
	rand.Shuffle(len(offsets), func(i, j int) { offsets[i], offsets[j] = offsets[j], offsets[i] })
	for i, at := range offsets {
		if i == len(offsets)/2 {
			second.mu.Lock()
			second.bytes = maxBytes // the next one drops all
			second.mu.Unlock()
		}
		got := second.find(at)
		if !sameRules(got, want[at]) {
			t.Fatalf("at %#x the rules are %+v, and %+v when functions are asked for in their order", at, got, want[at])
		}
	}
	checkTable(t, first)
	checkTable(t, second)
	if first.Functions() < 1000 || second.Bytes() >= first.Bytes() {
		t.Errorf("%d functions in %d bytes, %d bytes after a drop", first.Functions(), first.Bytes(), second.Bytes())
	}
}

func sameRules(x, y *ruleSet) bool {
	if x == nil || y == nil {
		return x == y
	}
	return x.cfa == y.cfa && x.ra == y.ra && x.flags == y.flags && slices.Equal(x.rules, y.rules)
}

// TestFramePointersOfAFewFunctionsAreThoseOfMost compares with what all functions do.
func TestFramePointersOfAFewFunctionsAreThoseOfMost(t *testing.T) {
	paths, err := filepath.Glob("/usr/lib/*-linux-gnu/*.so.*")
	if err != nil || len(paths) == 0 {
		t.Skipf("this machine keeps no shared libraries in /usr/lib/*-linux-gnu: %v", err)
	}
	paths = append(paths, compile(t, "gcc", "chains.c", "-O1", "-fno-omit-frame-pointer"))
	kept := 0
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		defer f.Close()
		table, err := Compile(f)
		if err != nil || table.eh == nil || table.eh.Len() > 5000 {
			continue
		}
		framed, all := 0, 0
		for i := range table.eh.Len() {
			if f, ok := table.eh.At(i); ok && understood(&f) {
				if f, ok := table.place(function{frame: f}, f.Start, f.End); ok {
					all++
					if table.builder.reset(table.arch, f.start, f.end); table.builder.frame(&f) {
						framed++
					}
				}
			}
		}
		if framed*10 > all*4 && framed*10 < all*6 {
			continue // half of them: either is right
		}
		if got := table.FramePointers(); got != (framed*2 > all) {
			t.Errorf("%s: frame pointers: %v, of %d functions %d keep them", path, got, all, framed)
		} else if got {
			kept++
		}
	}
	if kept == 0 {
		t.Error("no file keeps frame pointers")
	}
}

// Code without any record of its own, between functions that have one, stays
// without rules however often it is asked for.
func TestCodeWithoutARecordHasNoRules(t *testing.T) {
	table := compileFile(t, "testdata/bare.amd64.elf")
	compileAll(table)
	end := table.units[len(table.units)-1].end
	before := table.Functions()
	for range 3 {
		if set := table.find(end); set != nil {
			t.Errorf("behind the last function, at %#x, the rules are %+v", end, set)
		}
	}
	if table.Functions() != before {
		t.Errorf("%d functions, then %d", before, table.Functions())
	}
}
