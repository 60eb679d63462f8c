package ftrace

import (
	"slices"
	"strings"
)

// maxKernelStack is the highest N of $argN and $stackN: the number of words in a kernel stack
// of 16 KiB (kernel/trace/trace_probe.h, PARAM_MAX_STACK).
const maxKernelStack = 2048

// kernelTypes are additional types of kernel probes.
var kernelTypes = []string{"symbol", "symstr"}

// ParseKernelArgs is ParseFetchArgs for a kernel probe (Documentation/trace/kprobetrace.rst).
// The differences are:
//
//	FETCH  @SYMBOL | @SYMBOL+OFFSET | @SYMBOL-OFFSET    memory at a variable; no @+FILEOFFSET
//	TYPE   symbol, an address that is printed as SYMBOL+OFFSET; symstr, the
//	       same as a string (Linux 6.3, and some before)
//
// +OFFSET(FETCH) reads kernel memory and +uOFFSET(FETCH) reads memory of the task. If the
// address is in the user half, the kernel reads strings from there, too. The caller must check
// whether SYMBOL exists. The error is a *SyntaxError.
func ParseKernelArgs(text string) ([]FetchArg, error) { return parseFetchArgs(text, true) }

// KernelArgs is UserArgs for a kernel probe; the calling convention is the same. On arm64 it
// also replaces amd64 registers that carry no argument, at a function's entry, so that existing
// definitions keep working. The caller-saved ax, r10 and r11 become x9 to x11; the callee-saved
// bx and r12 to r15 become x19 to x23.
func KernelArgs(args []FetchArg, arch string, isReturn bool) (out []FetchArg, notes []string, err error) {
	regs := registers(arch)
	if regs != nil && regs.foreign != nil {
		regs.foreign = arm64Scratch(regs.foreign)
	}
	return translateArgs(args, regs, arch, isReturn)
}

// arm64Scratch adds caller-saved and callee-saved registers to the argument registers.
func arm64Scratch(arguments map[string]string) map[string]string {
	all := map[string]string{
		"ax": "x9", "r10": "x10", "r11": "x11",
		"bx": "x19", "r12": "x20", "r13": "x21", "r14": "x22", "r15": "x23",
		"flags": "pstate",
	}
	for from, to := range arguments {
		all[from] = to
	}
	return all
}

// Symbol returns the name of the variable that a kernel probe's argument reads: from
// @SYMBOL+OFFSET, also inside +OFFSET(…). It returns "" if there is none.
func (a FetchArg) Symbol() string {
	start, end := operand(a.Fetch)
	where, ok := strings.CutPrefix(a.Fetch[start:end], "@")
	if !ok || where == "" || isDigit(where[0]) || where[0] == '+' {
		return ""
	}
	if sign := strings.IndexAny(where, "+-"); sign >= 0 {
		where = where[:sign]
	}
	return where
}

const symbolLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$"

// symbol parses @SYMBOL, with or without an offset.
func (p *fetchParser) symbol(start, end int) error {
	name := p.text[start+1 : end]
	sign := strings.IndexAny(name, "+-")
	if sign < 0 {
		sign = len(name)
	}
	switch offset := name[sign:]; {
	case sign == 0 && strings.HasPrefix(name, "+"):
		return p.fail(start, "@+ is an offset in a file, for user probes; a kernel probe takes @ADDRESS or @SYMBOL")
	case sign == 0 || strings.Trim(name[:sign], symbolLetters) != "":
		return p.fail(start+1, "@ takes an address or the name of a variable of the kernel")
	case offset != "":
		if _, ok := kernelInt(offset); !ok {
			return p.fail(start+1+sign, "%q is no number", offset)
		}
	}
	p.step(fetchImmediate) // the symbol,
	p.step(fetchImmediate) // its address,
	p.step(fetchDeref)     // the value there
	return nil
}

// types returns the names of the types that the probe may use.
func (p *fetchParser) types() []string {
	if p.kernel {
		return slices.Concat(fetchTypes, kernelTypes)
	}
	return fetchTypes
}

// symstr checks whether the fetched value can have the type symstr.
func (p *fetchParser) symstr(start int, array bool) error {
	if array {
		return p.fail(start, "There are no arrays of symstr; symbol has them")
	}
	if p.last != fetchDeref && (p.last != fetchValue || p.stack) {
		return p.fail(start, "A symstr is made of a register, a stack word, the return value or what is at an address of the kernel")
	}
	p.steps++
	if p.steps >= maxFetchSteps {
		return p.fail(start, "This is nested too deeply")
	}
	return nil
}
