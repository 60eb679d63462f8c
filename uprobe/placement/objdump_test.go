package placement

import (
	"bufio"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// line is one instruction as objdump prints it.
type line struct {
	addr     uint64
	length   int
	mnemonic string // with operands
	bad      bool
}

// disassemble runs objdump over all code of a file, sorted by address.
func disassemble(t testing.TB, tool, file string) []line {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skip(tool + " is not installed")
	}
	cmd := exec.Command(tool, "-d", "-w", "-z", "--insn-width=16", file)
	if strings.HasPrefix(tool, "aarch64") {
		cmd = exec.Command(tool, "-d", "-z", file)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []line
	s := bufio.NewScanner(out)
	for s.Scan() {
		parts := strings.SplitN(s.Text(), "\t", 3)
		addr, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(parts[0]), ":"), 16, 64)
		if err != nil || len(parts) < 3 {
			continue
		}
		code, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(parts[1]), " ", ""))
		if err != nil {
			continue
		}
		m := parts[2]
		if tool == "objdump" && len(code) > 1 && code[0] == 0x9b { // objdump joins FWAIT and what follows
			lines = append(lines, line{addr, 1, "fwait", false})
			addr, code = addr+1, code[1:]
		}
		lines = append(lines, line{addr, len(code), m, strings.Contains(m, "(bad)") || strings.HasPrefix(m, ".")})
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(lines, func(a, b line) int { return int(int64(a.addr) - int64(b.addr)) })
	return lines
}

// named is a function with its symbol's name.
type named struct {
	name string
	Function
}

// functions reads all sized functions of a file, one per address and size.
func functions(t testing.TB, path string) []named {
	t.Helper()
	f, err := elf.Open(path)
	if os.IsNotExist(err) {
		t.Skip(path + " is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, _ := f.DynamicSymbols()
	more, _ := f.Symbols()
	type key struct{ addr, size uint64 }
	seen := map[key]bool{}
	sections := map[elf.SectionIndex][]byte{}
	var all []named
	for _, s := range append(syms, more...) {
		if t := elf.ST_TYPE(s.Info); t != elf.STT_FUNC && t != elf.STT_GNU_IFUNC {
			continue
		}
		if s.Size == 0 || int(s.Section) >= len(f.Sections) || s.Section == 0 || seen[key{s.Value, s.Size}] {
			continue
		}
		seen[key{s.Value, s.Size}] = true
		sec := f.Sections[s.Section]
		if sections[s.Section] == nil {
			if sections[s.Section], err = sec.Data(); err != nil {
				t.Fatal(err)
			}
		}
		data := sections[s.Section]
		if s.Value < sec.Addr || s.Value+s.Size > sec.Addr+uint64(len(data)) {
			continue
		}
		code := data[s.Value-sec.Addr:][:s.Size]
		all = append(all, named{s.Name, Function{f.Machine, code, s.Value}})
	}
	slices.SortFunc(all, func(a, b named) int { return int(int64(a.Addr) - int64(b.Addr)) })
	return all
}

func peerObjects(t *testing.T) map[string][]string {
	const lib = "/lib/x86_64-linux-gnu/"
	return map[string][]string{
		"objdump":                   {lib + "libc.so.6", lib + "libcrypto.so.3", lib + "libstdc++.so.6", lib + "libm.so.6", "/bin/bash"},
		"aarch64-linux-gnu-objdump": {"/usr/aarch64-linux-gnu/lib/libc.so.6"},
	}
}

func isReturn(m string) bool {
	for _, w := range strings.Fields(m) {
		switch w {
		case "ret", "retq", "lret", "lretq", "retaa", "retab", "iretq", "iret", "eret":
			return true
		case "repz", "bnd", "rep", "notrack", "cs", "ds":
		default:
			return false
		}
	}
	return false
}

func TestPeerBoundariesAndReturnsAreObjdumps(t *testing.T) {
	for tool, files := range peerObjects(t) {
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				lines := disassemble(t, tool, file)
				undecodable, compared, wrong := 0, 0, 0
				for _, f := range functions(t, file) {
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
			})
		}
	}
}

// isPrefixOnly says whether objdump prints a prefix alone at the address.
func isPrefixOnly(lines []line, addr uint64) bool {
	i, ok := find(lines, addr)
	return ok && lines[i].length == 1 && strings.HasPrefix(lines[i].mnemonic, "rex")
}

func find(lines []line, addr uint64) (int, bool) {
	return slices.BinarySearchFunc(lines, addr, func(l line, a uint64) int { return int(int64(l.addr) - int64(a)) })
}

// target is the address that objdump says a direct branch or call goes to.
func (l line) target() (uint64, bool) {
	text, _, ok := strings.Cut(l.mnemonic, " <")
	if op := l.operation(); strings.HasPrefix(op, "adr") || strings.HasPrefix(op, "ldr") || strings.HasPrefix(op, "prfm") {
		return 0, false
	}
	if !ok || strings.Contains(text, "#0x") && !strings.HasPrefix(text, "tb") || strings.Contains(text, "(%") || strings.Contains(text, "[") {
		return 0, false
	}
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
	addr, err := strconv.ParseUint(fields[len(fields)-1], 16, 64)
	return addr, err == nil && len(fields) > 1
}

// operation is the mnemonic without prefixes.
func (l line) operation() string {
	for _, w := range strings.Fields(l.mnemonic) {
		switch w {
		case "bnd", "notrack", "cs", "ds", "repz", "repnz", "data16", "rex.W", "lock", "rep":
			continue
		}
		return w
	}
	return ""
}

// TestPeerEveryInstructionIsWhatObjdumpSays compares what the single
// instructions of whole files do.
func TestPeerEveryInstructionIsWhatObjdumpSays(t *testing.T) {
	words := func(s string) map[string]bool {
		m := map[string]bool{}
		for _, w := range strings.Fields(s) {
			m[w] = true
		}
		return m
	}
	quiet := words("cmp cmpb cmpw cmpl cmpq test testb testw testl testq bt nop nopw nopl endbr64 xchg " +
		"cmn tst ccmp ccmn bti")
	emulatedX86 := words("push jmp call nop")
	emulatedARM := words("b bl br blr ret cbz cbnz tbz tbnz adr adrp")
	for tool, files := range peerObjects(t) {
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				lines := disassemble(t, tool, file)
				direct, quiets, emulated, differ := 0, 0, 0, 0
				for _, f := range functions(t, file) {
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
			})
		}
	}
}

// TestPeerNothingJumpsIntoWhatIsPassedOver looks at all code of a file, also at
// code that belongs to no function with a symbol, such as cold parts.
func TestPeerNothingJumpsIntoWhatIsPassedOver(t *testing.T) {
	for tool, files := range peerObjects(t) {
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				lines := disassemble(t, tool, file)
				passed := map[uint64]string{} // all addresses behind the first, up to the moved place
				stepped, moved := 0, 0
				all := functions(t, file)
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
			})
		}
	}
}
