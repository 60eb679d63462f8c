package usdt

import (
	"debug/elf"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// ArgError is returned when the kernel can't fetch an argument of a probe.
type ArgError struct {
	probe  string // provider:name
	Number int    // from 1
	text   string // the argument
	reason string
}

func (e *ArgError) Error() string {
	return fmt.Sprintf("argument %d of %s, %.80q: %s", e.Number, e.probe, e.text, e.reason)
}

// maxArgs is MAX_TRACE_ARGS in kernel/trace/trace_probe.h. sdt.h has up to 12.
const maxArgs = 128

// FetchArgs returns the kernel's fetch arguments for the probe's arguments, with sizes and
// signs; the first is named arg1. Arguments that can't be fetched are left out, and the others
// keep their numbers. The error joins an *ArgError for each one left out.
func (p Probe) FetchArgs(machine elf.Machine) ([]ftrace.FetchArg, error) {
	texts := split(p.Args)
	if len(texts) > maxArgs {
		return nil, fmt.Errorf("%w: %s has %d arguments", ErrMalformed, p, len(texts))
	}
	var args []ftrace.FetchArg
	var errs []error
	for i, text := range texts {
		fetch, typ, reason := p.fetch(text, machine)
		if reason != "" {
			errs = append(errs, &ArgError{probe: p.String(), Number: i + 1, text: text, reason: reason})
			continue
		}
		args = append(args, ftrace.FetchArg{Name: "arg" + strconv.Itoa(i+1), Fetch: fetch, Type: typ})
	}
	return args, errors.Join(errs...)
}

// fetch translates one argument.
func (p Probe) fetch(text string, machine elf.Machine) (fetch, typ, reason string) {
	size, text, err := cutSize(text, machine)
	if err != nil {
		return "", "", err.Error()
	}
	o, reason := parseOperand(text, machine)
	if reason != "" {
		return "", "", reason
	}
	typ = size.typ()
	switch o.kind {
	case immediate:
		return `\` + strconv.FormatInt(o.value, 10), typ, ""
	case register:
		return "%" + o.register, typ, ""
	case highByte:
		if size != 1 {
			return "", "", "the second byte of a register is fetched without a sign only"
		}
		return "%" + o.register, "b8@8/16", ""
	case memory:
		return fmt.Sprintf("%+d(%%%s)", o.value, o.register), typ, ""
	}
	addr := p.globals[o.symbol]
	if addr == ambiguous {
		return "", "", fmt.Sprintf("the file's symbol tables have no variable %s, or several", o.symbol)
	}
	// Relative to the nop itself: @+OFFSET, which is meant for this, reads 0 on Linux 6.1.
	return fmt.Sprintf("%+d(%%ip)", int64(addr+uint64(o.value)-p.vaddr)), typ, ""
}

// byteSize is the size of an argument in bytes, negative if it is signed.
type byteSize int

// typ returns the kernel's name of an integer of that size.
func (s byteSize) typ() string {
	if s < 0 {
		return "s" + strconv.Itoa(int(-s)*8)
	}
	return "u" + strconv.Itoa(int(s)*8)
}

// cutSize splits "-4@%edi" at the @. An argument without a size has the size of a register.
func cutSize(arg string, machine elf.Machine) (size byteSize, operand string, err error) {
	before, operand, ok := strings.Cut(arg, "@")
	if !ok {
		if machine == elf.EM_386 {
			return 4, arg, nil
		}
		return 8, arg, nil
	}
	switch before {
	case "1", "2", "4", "8", "-1", "-2", "-4", "-8":
		n, err := strconv.Atoi(before)
		return byteSize(n), operand, err
	case "4f", "8f", "-4f", "-8f":
		return 0, "", errors.New("the kernel does not fetch floating-point numbers")
	}
	return 0, "", fmt.Errorf("no integer has the size %.40q", before)
}

// split splits arguments at blanks outside of brackets.
func split(args string) []string {
	var list []string
	depth := 0
	begin := -1
	for i := range len(args) {
		switch args[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ' ':
			if depth <= 0 {
				if begin >= 0 {
					list = append(list, args[begin:i])
				}
				begin, depth = -1, 0
				continue
			}
		}
		if begin < 0 {
			begin = i
		}
	}
	if begin >= 0 {
		list = append(list, args[begin:])
	}
	return list
}
