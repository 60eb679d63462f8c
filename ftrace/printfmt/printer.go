package printfmt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// Options has functions for data that is not in the record. Each may be nil.
type Options struct {
	// KernelSymbol returns the kernel function that contains addr, for %pS and its variants:
	// its name, the offset of addr in it, its size, and its module ("" for the kernel itself).
	// If it is nil or returns false, the address is printed, as the kernel does.
	KernelSymbol func(addr uint64) (name string, offset, size uint64, module string, ok bool)
	// KernelString returns the text at an address in the kernel's memory. A few events record
	// only that address. FS.KernelStrings has some of the texts. If it is nil, the address is
	// printed.
	KernelString func(addr uint64) (text string, ok bool)
	// Constant returns the value of an enumerator of the kernel's source, which some print
	// formats use by name. ReadConstants has those of the running kernel. If it is nil, such
	// values are printed as numbers.
	Constant func(name string) (value int64, ok bool)
	// LibTraceEvent prints events as perf script and trace-cmd do, with the library of that name.
	// Pointers are 0x… or (nil), and functions have no sizes. Probes and system calls are printed
	// by their print formats.
	LibTraceEvent bool
}

// unknownText is printed for values that the kernel calculates from its own variables, which
// are in no record.
const unknownText = "?"

// Printer prints the records of one event as the kernel does. Several goroutines may use it if
// they may call the functions in its options.
type Printer struct {
	format   *ftrace.Format
	opts     Options
	kind     printKind
	pieces   []piece
	place    *ftrace.Field // of a probe: the field with its address
	retPlace *ftrace.Field // the return address of a return probe, else nil
	fallback error
}

// printKind says how the kernel prints an event.
type printKind uint8

const (
	printFormat printKind = iota // by its print format
	printProbe                   // user and kernel probes
	printSyscall
	printList // our own name=value list, if the print format is not supported
)

// maxRecord limits the offsets and sizes of fields, in bytes: neither perf's nor ftrace's ring
// buffers can hold a record of 64 KiB.
const maxRecord = 1 << 16

// New compiles the event's print format. If it is not supported, the printer lists the fields
// instead, and Fallback returns the reason. The error is a *ftrace.FormatError if a field is
// outside any possible record.
func New(f *ftrace.Format, opts Options) (*Printer, error) {
	for _, field := range f.Fields {
		if field.Offset < 0 || field.Size < 0 || field.Offset > maxRecord || field.Size > maxRecord {
			return nil, &ftrace.FormatError{Text: field.Name, Reason: "the field " + field.Name + " lies outside of any record"}
		}
	}
	p := &Printer{format: f, opts: opts}
	if !opts.LibTraceEvent && p.syscall() {
		return p, nil
	}
	if p.fallback = p.compile(); p.fallback != nil {
		p.kind, p.pieces = printList, nil
		return p, nil
	}
	if !opts.LibTraceEvent {
		p.probe()
	}
	return p, nil
}

// Fallback returns the reason why the printer lists fields instead of using the event's print
// format, or nil if it uses the format.
func (p *Printer) Fallback() error {
	if p.fallback == nil {
		return nil
	}
	return fmt.Errorf("print format of %s:%s: %w", p.format.System, p.format.Name, p.fallback)
}

func (p *Printer) compile() error {
	format, rest, ok := cutFormatString(p.format.PrintFmt)
	if !ok {
		return fmt.Errorf("it does not start with a string")
	}
	pieces, err := splitFormat(format)
	if err != nil {
		return err
	}
	args, err := p.compileArguments(rest)
	if err != nil {
		return err
	}
	for i := range pieces {
		if pieces[i].verb == 0 {
			continue
		}
		for _, arg := range [...]*node{&pieces[i].widthArg, &pieces[i].precisionArg, &pieces[i].arg} {
			if arg != &pieces[i].arg && *arg == nil {
				continue
			}
			if len(args) == 0 {
				return errors.New("it has fewer arguments than conversions")
			}
			*arg, args = args[0], args[1:]
		}
		if n, ok := pieces[i].arg.(*fieldNode); ok && n.field.SignBits > 0 && pieces[i].base == 10 {
			pieces[i].typ.Signed = true // in the kernel's print format it is unsigned
		}
	}
	if len(args) > 0 {
		return errors.New("it has more arguments than conversions")
	}
	p.pieces = pieces
	return nil
}

// compileArguments compiles the arguments after the format string.
func (p *Printer) compileArguments(text string) ([]node, error) {
	if text == "" {
		return nil, nil
	}
	list, ok := strings.CutPrefix(text, ",")
	if !ok {
		return nil, fmt.Errorf("%.20q after the format string", text)
	}
	c := &compiler{format: p.format, opts: p.opts}
	parser := cexpr.Parser{Operand: "a value", IsType: func(name string) bool { _, ok := c.typeNamed(name); return ok }}
	args, err := parser.ParseList(list)
	if err != nil {
		return nil, err
	}
	nodes := make([]node, len(args))
	for i, x := range args {
		if nodes[i], err = c.node(x); err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return nodes, nil
}

// cutFormatString splits a print format after its string constants and resolves their escapes.
// Most events put their format string in quotes without escaping. So a quote ends the string
// only before a comma, before a space and another string, or at the end.
func cutFormatString(text string) (format, rest string, ok bool) {
	rest = strings.TrimSpace(text)
	var b strings.Builder
	for strings.HasPrefix(rest, `"`) {
		end := 1
		for ; ; end++ {
			if end >= len(rest) {
				return "", "", false
			}
			if rest[end] == '\\' {
				end++
			} else if rest[end] == '"' {
				after := strings.TrimLeft(rest[end+1:], " \t\n")
				if after == "" || after[0] == ',' || after[0] == '"' && rest[end+1] != '"' {
					break
				}
			}
		}
		b.WriteString(cexpr.Unescape(rest[1:end]))
		rest = strings.TrimLeft(rest[end+1:], " \t\n")
		ok = true
	}
	return b.String(), rest, ok
}

// Append appends the text after "name: " in the kernel's trace or, for a system call, the text
// after the time. Text from targets is escaped: control characters and invalid UTF-8 become \n,
// \t, \r or \xNN. Values that are not in the record become a question mark.
func (p *Printer) Append(dst, raw []byte) []byte {
	switch p.kind {
	case printList:
		return p.appendList(dst, raw)
	case printProbe:
		dst = p.appendProbe(dst, raw)
	}
	for i := range p.pieces {
		piece := &p.pieces[i]
		dst = append(dst, piece.literal...)
		if piece.verb != 0 {
			dst = p.appendConversion(dst, raw, piece)
		}
	}
	return dst
}

// appendList prints name=value for each field.
func (p *Printer) appendList(dst, raw []byte) []byte {
	first := true
	for i := range p.format.Fields {
		f := &p.format.Fields[i]
		if f.Common {
			continue
		}
		if !first {
			dst = append(dst, ' ')
		}
		first = false
		dst = append(append(dst, f.Name...), '=')
		dst = f.AppendText(dst, raw)
	}
	return dst
}
