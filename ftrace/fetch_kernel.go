package ftrace

import (
	"slices"
	"strings"
)

// maxKernelStack is the highest N of $argN and $stackN: the words of a kernel
// stack of 16 KiB (kernel/trace/trace_probe.h, PARAM_MAX_STACK).
const maxKernelStack = 2048

// kernelTypes are the types that kernel probes have besides.
var kernelTypes = []string{"symbol", "symstr"}

// ParseKernelArgs reads the fetch arguments of a kernel probe, as ParseFetchArgs
// does those of a user probe (Documentation/trace/kprobetrace.rst). These differ:
//
//	FETCH  @SYMBOL | @SYMBOL+OFFSET | @SYMBOL-OFFSET    memory at a variable; no @+FILEOFFSET
//	TYPE   symbol, an address that is printed as SYMBOL+OFFSET; symstr, the
//	       same as a string (Linux 6.3, and some before)
//
// +OFFSET(FETCH) reads the kernel's memory and +uOFFSET(FETCH) that of the task;
// of an address that is one of the user half the kernel reads strings there
// too. Whether there is a SYMBOL of that name is the caller's to find out. The error
// is a *SyntaxError.
func ParseKernelArgs(text string) ([]FetchArg, error) { return parseFetchArgs(text, true) }

// KernelArgs is UserArgs for the arguments of a kernel probe, whose calling
// convention is the same. Besides, registers of amd64 that carry no argument have
// a counterpart on arm64 at a function's entry, so that a definition that shows
// them can be used there: what the caller saves is x9 to x11, what is preserved
// for it x19 to x23.
func KernelArgs(args []FetchArg, arch string, isReturn bool) (out []FetchArg, notes []string, err error) {
	regs := registers(arch)
	if regs != nil && regs.foreign != nil {
		regs.foreign = arm64Scratch(regs.foreign)
	}
	return translateArgs(args, regs, arch, isReturn)
}

// arm64Scratch adds to the argument registers those that both architectures
// leave to the caller, and to the function.
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

// Symbol returns the variable that a kernel probe's argument reads, of
// @SYMBOL+OFFSET or of what is nested in +OFFSET(…); "" if there is none.
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

// symbolLetters are what the names of the kernel's variables are made of.
const symbolLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$"

// symbol reads @SYMBOL, with an offset or without.
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
	p.step(fetchDeref)     // what is there
	return nil
}

// types are the names of the types that go with the probe.
func (p *fetchParser) types() []string {
	if p.kernel {
		return slices.Concat(fetchTypes, kernelTypes)
	}
	return fetchTypes
}

// symstr finds out whether the type symstr goes with what was fetched.
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
