package dwarfline

import (
	"debug/dwarf"
	"encoding/binary"
	"testing"
)

// FuzzLookup looks up addresses in sections that nobody wrote. Whatever they
// hold, there is an answer of bounded size and no panic.
func FuzzLookup(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, info, abbrev, line, str, lineStr, lists []byte, addr uint64) {
		x, err := Open(memory{
			".debug_info":        info,
			".debug_abbrev":      abbrev,
			".debug_line":        line,
			".debug_str":         str,
			".debug_line_str":    lineStr,
			".debug_ranges":      lists,
			".debug_rnglists":    lists,
			".debug_aranges":     lists,
			".debug_addr":        str,
			".debug_str_offsets": lineStr,
		}, binary.LittleEndian)
		if err != nil {
			t.Fatal(err)
		}
		// The first call finds what there is; its ranges are worth a try each.
		tries := []uint64{addr}
		if _, err := x.Lookup(addr); err == nil {
			for _, p := range x.where[:min(len(x.where), 16)] {
				tries = append(tries, p.low, p.high-1)
			}
		}
		for _, a := range tries {
			lines, _ := x.Lookup(a)
			if len(lines) > maxInlines+1 {
				t.Errorf("%d levels", len(lines))
			}
			for _, l := range lines {
				if len(l.Function) > maxName || len(l.File) > maxName || l.Line < 0 || l.StartLine < 0 {
					t.Errorf("line out of bounds: %d, %d, %d, %d", len(l.Function), len(l.File), l.Line, l.StartLine)
				}
			}
		}
	})
}

// FuzzEntries asks for places of lines and walks the entries of functions. There
// is an end and no panic.
func FuzzEntries(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, info, abbrev, line, str, lineStr, lists []byte, addr uint64) {
		x, err := Open(memory{
			".debug_info":        info,
			".debug_abbrev":      abbrev,
			".debug_line":        line,
			".debug_str":         str,
			".debug_line_str":    lineStr,
			".debug_ranges":      lists,
			".debug_rnglists":    lists,
			".debug_loc":         lists,
			".debug_loclists":    lists,
			".debug_addr":        str,
			".debug_str_offsets": lineStr,
		}, binary.LittleEndian)
		if err != nil {
			t.Fatal(err)
		}
		x.Inlined(func(string) bool { return true })
		if found, err := x.Places("main.c", int(addr%32)); err == nil {
			for _, p := range found.Places {
				if p.Line != int(addr%32) || len(p.File) > maxName {
					t.Fatalf("%+v", p)
				}
			}
		}
		for _, p := range x.where[:min(len(x.where), 4)] {
			e, ok, _ := x.Subprogram(p.low)
			if !ok {
				continue
			}
			e.Location(dwarf.AttrFrameBase, p.low)
			e.Children(func(c DIE) bool {
				c.Location(dwarf.AttrLocation, p.low)
				if to, ok := c.Ref(dwarf.AttrType); ok {
					to.Path()
					to.Children(func(DIE) bool { return true })
				}
				return true
			})
		}
	})
}

// addSeeds adds the debug sections of two ELF files, each with the address of its
// label and with a number that is no address and a line without code. gcc
// built them from the program marked with -O2 -nostdlib -static and -gdwarf-4 or 5.
func addSeeds(f *testing.F) {
	f.Helper()
	for _, path := range []string{"testdata/marked-dwarf4.elf", "testdata/marked-dwarf5.elf"} {
		_, e := openELF(f, path)
		lists := ".debug_ranges"
		if e.Section(".debug_rnglists") != nil {
			lists = ".debug_rnglists"
		}
		data := func(name string) []byte {
			b, err := elfSource{e}.SectionData(name)
			if err != nil {
				f.Fatal(err)
			}
			return b
		}
		for _, addr := range []uint64{label(f, e, "here"), 1} {
			f.Add(data(".debug_info"), data(".debug_abbrev"), data(".debug_line"), data(".debug_str"),
				data(".debug_line_str"), data(lists), addr)
		}
	}
}
