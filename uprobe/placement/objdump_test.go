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
