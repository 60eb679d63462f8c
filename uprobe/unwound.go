package uprobe

import (
	"strings"

	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe/placement"
)

// unwinders are libraries that throw exceptions or unwind the stack for others: those of gcc
// (C++, Rust's panics) and of LLVM.
var unwinders = []string{"libgcc_s.so", "libstdc++.so", "libc++.so", "libc++abi.so", "libunwind.so"}

// exceptions reports whether C++ exceptions or Rust panics may pass through the target's
// functions. A kernel return probe replaces a return address, and nothing describes the frame
// that the new address belongs to. An unwinder that finds it ends the program. C functions that
// call back into C++ are not recognized.
func (t *target) exceptions() bool {
	needed := t.needed()
	for _, library := range needed {
		for _, unwinder := range unwinders {
			if strings.HasPrefix(library, unwinder) {
				return true
			}
		}
	}
	if len(needed) > 0 || t.goTable != nil {
		return false
	}
	// Statically linked.
	if _, interpreted := t.image.Section(".interp"); interpreted {
		return false
	}
	if t.stripped() {
		_, handlers := t.image.Section(".gcc_except_table")
		return handlers
	}
	found, err := t.symbols.Find("_Unwind_RaiseException")
	return err == nil && len(found) > 0
}

// ends returns the file offsets of all return instructions of a function and of its cold part,
// sorted. It returns nil if calls may end in another way: in a jump to another function that
// returns in its place.
func (r *resolver) ends(fn *symbols.Function, code *placement.Function) (ends []uint64) {
	type part struct {
		offset uint64
		code   *placement.Function
	}
	parts := []part{{fn.Offset, code}}
	if cold, err := r.symbols.Find(fn.Name + ".cold"); err == nil && len(cold) == 1 {
		if code, err := r.code(cold[0].Offset, cold[0].Size); err == nil {
			parts = append(parts, part{cold[0].Offset, code})
		}
	}
	within := func(offset uint64) bool {
		for _, p := range parts {
			if offset >= p.offset && offset-p.offset < uint64(len(p.code.Code)) {
				return true
			}
		}
		return false
	}
	for _, p := range parts {
		exits, err := p.code.Exits()
		if err != nil || exits.Indirect {
			return nil
		}
		for _, target := range exits.Outside {
			if !within(p.offset + uint64(target)) {
				return nil
			}
		}
		for _, end := range exits.Returns {
			if p.code.Probeable(end) != nil {
				return nil
			}
			ends = append(ends, p.offset+uint64(end))
		}
	}
	return ends
}
