package ftrace

import (
	"fmt"
	"slices"
	"strings"
)

// fetchParser parses one argument of a text. Its methods take the range [start, end) of the
// text that they parse, so that errors can point into it.
type fetchParser struct {
	text   string
	kernel bool // for a kernel probe

	// The kernel compiles an argument into a short program. The program's length is limited,
	// and its last step decides which types are allowed.
	last  fetchStep
	steps int
	stack bool // the value is $stack
}

type fetchStep int

const (
	fetchValue     fetchStep = iota // a register, a stack word, the return value
	fetchImmediate                  // a number
	fetchText                       // the text of the definition, or the task's name
	fetchDeref
	fetchUserDeref
)

// reservedFields are the fields that every user probe has.
var reservedFields = []string{
	"common_type", "common_flags", "common_preempt_count", "common_pid", "common_tgid",
	"__probe_ip", "__probe_ret_ip", "__probe_func",
}

func (p *fetchParser) fail(pos int, format string, args ...any) error {
	return &SyntaxError{Text: p.text, Pos: pos, Message: fmt.Sprintf(format, args...)}
}

// arg parses one argument; before are the arguments before it.
func (p *fetchParser) arg(start, end int, before []FetchArg) (FetchArg, error) {
	arg := FetchArg{Name: fmt.Sprintf("arg%d", len(before)+1)}
	body := start
	if equals := strings.IndexByte(p.text[start:end], '='); equals >= 0 {
		body = start + equals + 1
		arg.Name = p.text[start : body-1]
	}
	switch {
	case arg.Name == "":
		return arg, p.fail(start, "The argument has no name before the =")
	case len(arg.Name) > maxFetchName:
		return arg, p.fail(start+maxFetchName, "An argument's name can't have more than %d characters", maxFetchName)
	case !isIdentifier(arg.Name):
		return arg, p.fail(start, "An argument's name must follow the rules of C identifiers")
	case slices.Contains(reservedFields, arg.Name):
		return arg, p.fail(start, "Every probe has a field of this name already")
	case slices.ContainsFunc(before, func(b FetchArg) bool { return b.Name == arg.Name }):
		return arg, p.fail(start, "There is an argument %s already", arg.Name)
	case body == end:
		return arg, p.fail(body, "The argument has nothing to fetch")
	case end-body > maxFetchBody:
		return arg, p.fail(body+maxFetchBody, "An argument can't have more than %d characters", maxFetchBody)
	}
	fetchEnd, typeStart := end, end
	if colon := strings.IndexByte(p.text[body:end], ':'); colon >= 0 {
		fetchEnd = body + colon
		typeStart = fetchEnd + 1
		if typeStart == end {
			return arg, p.fail(end, "The type is missing behind the colon")
		}
	}
	if err := p.fetch(body, fetchEnd); err != nil {
		return arg, err
	}
	arg.Fetch, arg.Type = p.text[body:fetchEnd], p.text[typeStart:end]
	return arg, p.typ(typeStart, end)
}

// fetch parses the source of a value.
func (p *fetchParser) fetch(start, end int) error {
	if start == end {
		return p.fail(start, "There is nothing to fetch")
	}
	switch p.text[start] {
	case '$':
		return p.variable(start, end)
	case '%':
		if name := p.text[start+1 : end]; name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return p.fail(start, "Names of registers are of lower case letters and digits")
		}
		p.step(fetchValue)
		return nil
	case '@':
		return p.memory(start, end)
	case '+', '-':
		return p.deref(start, end)
	case '\\':
		return p.immediate(start, end)
	}
	return p.fail(start, "A value starts with %% (register), $ (variable), @ (memory), + or - (offset to follow), or \\ (constant)")
}

func (p *fetchParser) step(s fetchStep) {
	p.last = s
	p.steps++
}

// variable parses $retval, $comm, $stack, $stackN and $argN.
func (p *fetchParser) variable(start, end int) error {
	name := p.text[start+1 : end]
	word := strings.TrimRight(name, "0123456789")
	digits := name[len(word):]
	switch {
	case name == "retval", name == "stack":
		p.stack = name == "stack"
		p.step(fetchValue)
		return nil
	case name == "comm", name == "COMM":
		p.step(fetchText)
		return nil
	case word == "stack", word == "arg":
		number, ok := kernelUint(digits, 10)
		if !ok || number > 1<<32-1 || word == "arg" && number == 0 {
			return p.fail(start+1+len(word), "There is no $%s", name)
		}
		if p.kernel && number > maxKernelStack {
			return p.fail(start+1+len(word), "There is no $%s: a kernel stack has %d words", name, maxKernelStack)
		}
		p.step(fetchValue)
		return nil
	}
	return p.fail(start, "There are $argN, $retval, $stackN, $stack and $comm, no $%s", name)
}

// memory parses @ADDRESS, @+FILEOFFSET of user probes, and @SYMBOL of kernel probes.
func (p *fetchParser) memory(start, end int) error {
	where, ok := p.text[start+1:end], false
	switch {
	case p.kernel && (where == "" || !isDigit(where[0])):
		return p.symbol(start, end)
	case strings.HasPrefix(where, "+"):
		_, ok = kernelInt(where[1:])
	case where != "" && isDigit(where[0]):
		_, ok = kernelUint(where, 0)
	default:
		return p.fail(start, "@ takes an address or, with @+, an offset in the file; symbols are for kernel probes")
	}
	if !ok {
		return p.fail(start+1, "%q is no number", where)
	}
	p.step(fetchImmediate)
	p.step(fetchDeref)
	return nil
}

// deref parses +OFFSET(FETCH) and its variants.
func (p *fetchParser) deref(start, end int) error {
	sign, offset := p.text[start:start+1], start+1
	kind := fetchDeref
	if offset < end && p.text[offset] == 'u' {
		kind = fetchUserDeref
		offset++
	}
	open := strings.IndexByte(p.text[offset:end], '(')
	if open < 0 {
		return p.fail(end, "An offset is followed by what it counts from, in parentheses")
	}
	open += offset
	number := p.text[offset:open]
	if sign == "-" {
		number = sign + number
	}
	if _, ok := kernelInt(number); !ok {
		return p.fail(offset, "%q is no number", p.text[offset:open])
	}
	shut := strings.LastIndexByte(p.text[open:end], ')')
	if shut < 0 {
		return p.fail(end, "The parenthesis is not closed")
	}
	shut += open
	if shut+1 != end {
		return p.fail(shut+1, "There is something behind the closing parenthesis")
	}
	if err := p.fetch(open+1, shut); err != nil {
		return err
	}
	if p.last == fetchText {
		return p.fail(open+1, "A text has no address to follow")
	}
	p.step(kind)
	if p.steps == maxFetchSteps {
		return p.fail(start, "This is nested too deeply")
	}
	return nil
}

// immediate parses \NUMBER and \"TEXT".
func (p *fetchParser) immediate(start, end int) error {
	value := p.text[start+1 : end]
	if strings.HasPrefix(value, `"`) {
		if len(value) < 2 || value[len(value)-1] != '"' {
			return p.fail(end, `The text is not closed with "; it can hold no space and no colon`)
		}
		p.step(fetchText)
		return nil
	}
	ok := false
	switch {
	case value == "":
	case isDigit(value[0]):
		_, ok = kernelUint(value, 0)
	case value[0] == '+':
		_, ok = kernelInt(value[1:])
	case value[0] == '-':
		_, ok = kernelInt(value)
	}
	if !ok {
		return p.fail(start+1, "%q is no number", value)
	}
	p.step(fetchImmediate)
	return nil
}
