package kprobe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ringtap/ringtap/symbols"
)

// isFunction reports whether a symbol of this type is code.
func isFunction(kind byte) bool { return kind == 't' || kind == 'T' || kind == 'w' || kind == 'W' }

// maxLine is the maximum length of a line in the kernel's lists: a name of 511 bytes, an
// address, a module.
const maxLine = 4096

// cutModule splits "NAME [MODULE]".
func cutModule(text []byte) (name, module []byte) {
	i := len(text) - 1
	if i < 0 || text[i] != ']' {
		return text, nil
	}
	open := bytes.LastIndexByte(text, '[')
	if open < 1 || text[open-1] != ' ' {
		return text, nil
	}
	return text[:open-1], text[open+1 : i]
}

// eachLine calls each for every non-empty line, without its newline.
func eachLine(r io.Reader, each func(line []byte) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if len(line) > maxLine || errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("line %d: longer than %d bytes", n, maxLine)
		}
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			if err := each(line); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// hexadecimal parses up to 16 digits and returns their number.
func hexadecimal(text []byte) (value uint64, n int) {
	for ; n < len(text) && n < 16; n++ {
		c := text[n]
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return value, n
		}
		value = value<<4 | uint64(c)
	}
	return value, n
}

// section is a part of the kernel's code with linker symbols at both ends
// (include/asm-generic/vmlinux.lds.h).
type section struct{ start, end uint64 }

func (s section) has(address uint64) bool { return s.start <= address && address < s.end }

// unprobed are the parts of the code where probes are not allowed, and why.
var unprobed = []struct{ name, why string }{
	{"__noinstr_text", "it runs where the kernel can't be instrumented (noinstr)"},
	{"__entry_text", "it is where the processor enters the kernel"},
	{"__kprobes_text", "the handling of probes itself depends on it"},
	{"__hyp_text", "it runs in the hypervisor"},
	{"__hyp_idmap_text", "it runs in the hypervisor"},
	{"__idmap_text", "it runs with the kernel's memory switched off"},
	{"inittext", "it ran when the kernel started, and is no longer in memory (__init)"},
}

// symtab is the result of reading /proc/kallsyms once.
type symtab struct {
	found    []symbol            // the wanted symbols, in the order of the list
	starts   []uint64            // the addresses of all code symbols, if requested
	aliases  map[uint64][]string // the code symbols of an address, if there are several
	sections map[string]section
	modules  map[string]bool
	hidden   bool // all addresses are zero
}

type symbol struct {
	Function
	kind byte
}

// readSymbols reads kallsyms and keeps the symbols for which keep returns true. If all is true,
// it also collects starts.
func readSymbols(r io.Reader, all bool, keep func(*symbols.KernelSymbol) bool) (*symtab, error) {
	t := &symtab{sections: map[string]section{}, modules: map[string]bool{}, hidden: true}
	if all {
		t.starts = make([]uint64, 0, 64<<10)
	}
	module := "" // of the previous line: modules come in runs
	var same aliases
	err := symbols.EachKernelSymbol(r, func(s *symbols.KernelSymbol) error {
		if string(s.Module) != module {
			module = string(s.Module)
			t.modules[module] = true
		}
		if s.Address != 0 {
			t.hidden = false
		}
		code := isFunction(s.Type)
		if all && code {
			t.starts = append(t.starts, s.Address)
		}
		if code && module == "" && s.Name[0] == '_' && bytes.Contains(s.Name, []byte("text")) {
			t.mark(s)
		}
		kept := keep(s)
		if kept {
			t.found = append(t.found, symbol{Function{Name: string(s.Name), Module: module, Address: s.Address}, s.Type})
		}
		if code {
			same.add(s, kept)
		}
		return nil
	})
	same.end()
	t.aliases = same.of
	if err != nil {
		return nil, fmt.Errorf("read kallsyms: %w", err)
	}
	return t, nil
}

// mark records a symbol that is one end of a section: __NAME_start and __NAME_end, or _sNAME
// and _eNAME.
func (t *symtab) mark(s *symbols.KernelSymbol) {
	name, isStart := bytes.CutSuffix(s.Name, []byte("_start"))
	isEnd := false
	if !isStart {
		name, isEnd = bytes.CutSuffix(s.Name, []byte("_end"))
	}
	if !isStart && !isEnd {
		if name, isStart = bytes.CutPrefix(s.Name, []byte("_s")); !isStart {
			name, isEnd = bytes.CutPrefix(s.Name, []byte("_e"))
		}
	}
	at := t.sections[string(name)]
	switch {
	case isStart:
		at.start = s.Address
	case isEnd:
		at.end = s.Address
	default:
		return
	}
	t.sections[string(name)] = at
}

// end returns the address of the next code symbol after start, which is an upper limit for the
// end of the function there. It returns 0 if there is none.
func (t *symtab) end(start uint64) uint64 {
	end := uint64(0)
	for _, a := range t.starts {
		if a > start && (end == 0 || a < end) {
			end = a
		}
	}
	return end
}

// isHelper reports whether a code symbol is not a function of the source: compilers and the
// build add such symbols, and some code is generated at run time.
func isHelper(f *Function) bool {
	for _, prefix := range []string{"__pfx_", "__cfi_", "__kcfi_", "__pi___pfx_"} {
		if strings.HasPrefix(f.Name, prefix) {
			return true
		}
	}
	return f.Module == "bpf" || strings.HasPrefix(f.Module, "__builtin__")
}
