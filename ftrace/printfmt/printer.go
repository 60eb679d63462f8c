package printfmt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/cexpr"
)

// Options is what a Printer may ask beyond the record.
type Options struct {
	// KernelSymbol names the kernel function that holds addr, for %pS and its
	// like: the function, the distance from its start, its size and its module
	// ("" for the kernel itself). Without it addresses are printed, as the
	// kernel does with those it has no name for.
	KernelSymbol func(addr uint64) (name string, offset, size uint64, module string, ok bool)
	// KernelString is the text at an address in the kernel's memory, for the
	// few events that record no more than its address. FS.KernelStrings knows
	// some. Without it the address is printed.
	KernelString func(addr uint64) (text string, ok bool)
	// Constant is the value of an enumerator of the kernel's source, which some
	// print formats name. ReadConstants gives those of the running kernel.
	// Without it what they stand for is printed as a number.
	Constant func(name string) (value int64, ok bool)
}

// unknownText stands for what the kernel calculates from its own variables,
// which are in no record.
const unknownText = "?"

// Printer prints the records of one event as the kernel does. Several
// goroutines may use it if they may use the functions in its options.
type Printer struct {
	format   *ftrace.Format
	opts     Options
	kind     printKind
	pieces   []piece
	place    *ftrace.Field // of a probe: where it is
	retPlace *ftrace.Field // where the function returns to, nil for a probe that is not on a return
	fallback error
}

// printKind tells which of the kernel's printers an event has.
type printKind uint8

const (
	printFormat printKind = iota // the print format
	printProbe                   // user and kernel probes
	printSyscall
	printList // name=value, of ours, where the print format can't be followed
)

// maxRecord bounds what a record may hold, in bytes: the ring buffers of both perf
// and ftrace hold none of 64 KiB.
const maxRecord = 1 << 16

// New compiles the event's print format. What is not understood of it does not
// fail: the printer then lists the fields, and Fallback says why. The error is a
// *ftrace.FormatError if a field lies outside of any record.
func New(f *ftrace.Format, opts Options) (*Printer, error) {
	for _, field := range f.Fields {
		if field.Offset < 0 || field.Size < 0 || field.Offset > maxRecord || field.Size > maxRecord {
			return nil, &ftrace.FormatError{Text: field.Name, Reason: "the field " + field.Name + " lies outside of any record"}
		}
	}
	p := &Printer{format: f, opts: opts}
	if p.syscall() {
		return p, nil
	}
	if p.fallback = p.compile(); p.fallback != nil {
		p.kind, p.pieces = printList, nil
		return p, nil
	}
	p.probe()
	return p, nil
}

// Fallback says why the printer lists fields instead of following the event's
// print format; nil if it doesn't.
func (p *Printer) Fallback() error {
	if p.fallback == nil {
		return nil
	}
	return fmt.Errorf("print format of %s:%s: %w", p.format.System, p.format.Name, p.fallback)
}

// compile turns the print format in pieces.
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
			pieces[i].typ.Signed = true // the kernel has it printed without its sign
		}
	}
	if len(args) > 0 {
		return errors.New("it has more arguments than conversions")
	}
	p.pieces = pieces
	return nil
}

// compileArguments compiles what follows the format string.
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

// cutFormatString splits a print format after its string constants, and undoes
// their escapes. The format string of most events is put in quotes as it is, so
// that a quote may stand in it unescaped: it ends the string only before a
// comma, a blank and another string, or nothing.
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

// Append appends what follows "name: " in the kernel's trace for the record, of
// a system call all that follows the time. Text of targets in it is escaped:
// control characters and bytes that are no UTF-8 become \n, \t, \r or \xNN. What
// the record does not tell is a question mark.
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
