package placement

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

func peerObjects(t *testing.T) map[string][]string {
	const lib = "/lib/x86_64-linux-gnu/"
	native := []string{lib + "libc.so.6", "/bin/bash", "/usr/lib32/libc.so.6"}
	if testlimit.IsThorough() {
		native = append(native, lib+"libcrypto.so.3", lib+"libstdc++.so.6", lib+"libm.so.6", "/usr/lib32/libstdc++.so.6")
	}
	return map[string][]string{"objdump": native, "aarch64-linux-gnu-objdump": {"/usr/aarch64-linux-gnu/lib/libc.so.6"}}
}

// TestPeerCodeIsWhatObjdumpSays compares all functions of libraries and of a
// program with a symbol table.
func TestPeerCodeIsWhatObjdumpSays(t *testing.T) {
	for tool, files := range peerObjects(t) {
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				lines := disassemble(t, tool, file)
				all := functions(t, file)
				t.Run("boundaries and returns are equal", func(t *testing.T) { compareBoundaries(t, lines, all) })
				t.Run("instructions do what they say", func(t *testing.T) { compareInstructions(t, lines, all) })
				t.Run("nothing jumps into what is passed over", func(t *testing.T) { compareJumps(t, lines, all) })
			})
		}
	}
}

// compareBoundaries expects an instruction wherever objdump finds one.
func compareBoundaries(t *testing.T, lines []line, all []named) {

	undecodable, compared, wrong := 0, 0, 0
	for _, f := range all {
		i, _ := slices.BinarySearchFunc(lines, f.Addr, func(l line, a uint64) int { return int(int64(l.addr) - int64(a)) })
		end := f.Addr + uint64(len(f.Code))
		var want, wantReturns []int
		bad := -1
		for ; i < len(lines) && lines[i].addr < end; i++ {
			if lines[i].bad && bad < 0 {
				bad = int(lines[i].addr - f.Addr)
			}
			want = append(want, int(lines[i].addr-f.Addr))
			if isReturn(lines[i].mnemonic) {
				wantReturns = append(wantReturns, want[len(want)-1])
			}
		}
		var got []int
		err := f.each(func(offset int, in instruction) bool {
			got = append(got, offset)
			return true
		})
		if err != nil {
			undecodable++
			at := err.(*NotCodeError).Offset
			if bad < 0 || bad > at {
				if isPrefixOnly(lines, f.Addr+uint64(at)) {
					continue // text in the code, which objdump prints as prefixes
				}
				wrong++
				t.Errorf("%s at %#x: %v, but objdump reads on: % x", f.name, f.Addr, err, f.Code[at:min(at+16, len(f.Code))])
			}
			continue
		}
		if bad >= 0 {
			t.Errorf("%s at %#x: read to the end, but objdump finds no instruction at +%#x: % x", f.name, f.Addr, bad, f.Code[bad:min(bad+16, len(f.Code))])
		}
		if !slices.Equal(got, want) {
			if wrong++; wrong < 20 {
				for k := range got {
					if k >= len(want) || got[k] != want[k] {
						t.Errorf("%s at %#x: boundary %d is %#x, objdump's is %#x: % x", f.name, f.Addr, k, got[k], want[min(k, len(want)-1)], f.Code[got[max(k-1, 0)]:][:min(16, len(f.Code)-got[max(k-1, 0)])])
						break
					}
				}
			}
			continue
		}
		returns, _ := f.Returns()
		if !slices.Equal(returns, wantReturns) {
			t.Errorf("%s at %#x: returns %#x, objdump's %#x", f.name, f.Addr, returns, wantReturns)
		}
		compared++
	}
	t.Logf("%d functions equal, %d hold what is no instruction to both", compared, undecodable)
	if compared < 600 {
		t.Errorf("only %d functions compared", compared)
	}
}

// compareInstructions compares what the single
// instructions of whole files do.
func compareInstructions(t *testing.T, lines []line, all []named) {
	words := func(s string) map[string]bool {
		m := map[string]bool{}
		for _, w := range strings.Fields(s) {
			m[w] = true
		}
		return m
	}
	quiet := words("cmp cmpb cmpw cmpl cmpq test testb testw testl testq bt nop nopw nopl endbr64 endbr32 xchg " +
		"cmn tst ccmp ccmn bti")
	emulatedX86 := words("push jmp call nop")
	emulatedARM := words("b bl br blr ret cbz cbnz tbz tbnz adr adrp")

	direct, quiets, emulated, differ := 0, 0, 0, 0
	for _, f := range all {
		f.each(func(offset int, in instruction) bool {
			i, ok := find(lines, f.Addr+uint64(offset))
			if !ok || lines[i].bad {
				return true
			}
			l := lines[i]
			op := l.operation()
			target, ok := l.target()
			if in.direct != ok || ok && target != f.Addr+uint64(int64(in.target)) {
				if differ++; differ < 20 {
					t.Errorf("%s+%#x: %q goes to %#x (%v)", f.name, offset, l.mnemonic, f.Addr+uint64(int64(in.target)), in.direct)
				}
			}
			if in.direct {
				direct++
			}
			if f.quiet(offset) {
				quiets++
				if !quiet[op] {
					t.Errorf("%s+%#x: %q is taken for harmless", f.name, offset, l.mnemonic)
				}
			}
			if !in.stepped {
				emulated++
				switch {
				case f.Machine == elf.EM_AARCH64 && !emulatedARM[op] && !strings.HasPrefix(op, "b."),
					f.Machine == elf.EM_X86_64 && !emulatedX86[op] && op[0] != 'j':
					t.Errorf("%s+%#x: %q is taken for emulated", f.name, offset, l.mnemonic)
				}
			}
			return differ < 20
		})
	}
	t.Logf("%d direct branches and calls, %d harmless, %d emulated", direct, quiets, emulated)
	if direct < 1000 || quiets < 1000 || emulated < 1000 {
		t.Error("too little was compared")
	}
}

// compareJumps looks at all code of a file, also at
// code that belongs to no function with a symbol, such as cold parts.
func compareJumps(t *testing.T, lines []line, all []named) {

	passed := map[uint64]string{} // all addresses behind the first, up to the moved place
	stepped, moved := 0, 0
	for _, f := range all {
		if f.Stepped(0) {
			stepped++
		}
		skip, _ := f.Entry()
		if skip > 0 {
			moved++
		}
		for i := 1; i <= skip; i++ {
			passed[f.Addr+uint64(i)] = f.name
		}
	}
	jumps := 0
	for _, l := range lines {
		target, ok := l.target()
		if !ok {
			continue
		}
		jumps++
		if name := passed[target]; name != "" {
			t.Errorf("%#x: %q leads into %s", l.addr, l.mnemonic, name)
		}
	}
	for _, f := range all {
		if name := passed[f.Addr]; name != "" {
			t.Errorf("%s is inside %s", f.name, name)
		}
	}
	t.Logf("%d functions, %d start with a stepped instruction, %d are moved; %d jumps and calls lead elsewhere", len(all), stepped, moved, jumps)
}
