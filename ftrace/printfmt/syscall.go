package printfmt

import (
	"bytes"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/cexpr"
	"github.com/ringtap/ringtap/internal/escape"
)

// SyscallText is the name of the field that has the text which a parameter of
// a system call points to, in the formats of events sys_enter_* since Linux 6.19.
func SyscallText(parameter string) string { return "__" + parameter + "_val" }

// SyscallTextCut tells whether a text that a record has of a system call may be the beginning of a
// longer one. Linux records 63 bytes if tracefs's file syscall_user_buf_size does not say
// otherwise, of which three dots are the last.
func SyscallTextCut(text []byte) bool {
	const leastCut = 32
	text = bytes.TrimRight(text, "\x00")
	return len(text) >= leastCut && bytes.HasSuffix(text, []byte("..."))
}

// SyscallTextLate is the name of a field of one byte, which no kernel has: if
// it is not zero, the text of the parameter was read later than the event, when
// it may have been another one. Its line then has a tilde before the text.
func SyscallTextLate(parameter string) string { return "__" + parameter + "_late" }

// syscall makes the printer of a system call's event, whose print format the
// kernel does not follow either (kernel/trace/trace_syscalls.c). It prints
//
//	sys_openat(dfd: 0xffffff9c, filename: 0x7f…, flags: 0x80000, mode: 0)
//	sys_openat -> 0x3
//
// without the name of the event before it. Where the record has the text behind
// a pointer, it follows the pointer in quotes. There we differ from the kernel
// in two things: openat's parameters look as those of all others do, and the
// bytes of a buffer are text with escapes and not hexadecimal numbers.
func (p *Printer) syscall() bool {
	if p.format.System != "syscalls" {
		return false
	}
	if name, ok := strings.CutPrefix(p.format.Name, "sys_exit_"); ok {
		ret := p.format.Field("ret")
		if ret == nil {
			return false
		}
		p.kind = printSyscall
		p.pieces = []piece{wordPiece("sys_"+name+" -> ", ret)}
		return true
	}
	name, ok := strings.CutPrefix(p.format.Name, "sys_enter_")
	if !ok {
		return false
	}
	p.kind = printSyscall
	literal := "sys_" + name + "("
	args := p.arguments()
	for i, f := range args {
		argument := wordPiece(literal+f.Name+": ", f)
		argument.syscallArg = true
		p.pieces = append(p.pieces, argument)
		if text := p.format.Field(SyscallText(f.Name)); text != nil {
			node := &syscallText{text: text, late: p.format.Field(SyscallTextLate(f.Name)), list: isVector(f),
				always: strings.Contains(p.format.PrintFmt, text.Name)}
			if strings.Contains(p.format.PrintFmt, "__print_dynamic_array("+text.Name) && i+1 < len(args) {
				node.count = args[i+1]
			}
			p.pieces = append(p.pieces, piece{conversion: conversion{verb: 's', precision: -1}, arg: node})
		}
		literal = ", "
	}
	if len(p.pieces) == 0 {
		p.pieces = []piece{{literal: literal + ")"}}
	} else {
		p.pieces = append(p.pieces, piece{literal: ")"})
	}
	return true
}

// arguments are the fields of the parameters: not the number of the call, which
// is the first field of the event's own, nor the texts behind pointers.
func (p *Printer) arguments() []*ftrace.Field {
	const number = 8 // offset
	var args []*ftrace.Field
	for i := range p.format.Fields {
		f := &p.format.Fields[i]
		inner, isInner := strings.CutPrefix(f.Name, "__")
		late, isLate := strings.CutSuffix(inner, "_late")
		switch {
		case f.Common, f.Offset == number, f.Location != ftrace.Inline:
		case isInner && isLate && p.format.Field(late) != nil:
		default:
			args = append(args, f)
		}
	}
	return args
}

// isVector tells whether a parameter points to pointers to text.
func isVector(f *ftrace.Field) bool { return strings.Contains(f.Type, "char *const *") }

// wordPiece prints a field of 8 bytes in hexadecimal, whatever its type says.
func wordPiece(literal string, f *ftrace.Field) piece {
	return piece{
		literal:    literal,
		conversion: conversion{verb: 'd', width: -1, precision: -1, prefix: true, base: 16, typ: cexpr.ULong},
		arg:        &fieldNode{field: f, typ: cexpr.ULong},
	}
}

// syscallText prints the text behind a pointer, and what stands before it.
type syscallText struct {
	text   *ftrace.Field
	late   *ftrace.Field // nil if it is never late
	list   bool          // several texts, each with a zero at its end
	count  *ftrace.Field // of bytes, where it is no text that ends with a zero but a buffer
	always bool          // quotes even around nothing, as the kernel prints what it could not read
}

func (n *syscallText) eval([]byte) value { return value{} }

func (n *syscallText) appendText(dst, raw []byte) []byte {
	b, ok := n.text.Data(raw, 0)
	if !ok || len(b) == 0 && !n.always {
		return dst
	}
	dst = append(dst, ' ')
	if n.late != nil {
		if late, _ := n.late.Uint(raw); late != 0 {
			dst = append(dst, '~')
		}
	}
	if n.count != nil {
		dst = appendQuoted(dst, b)
		if count, ok := n.count.Uint(raw); ok && count > uint64(len(b)) {
			dst = append(dst, "..."...)
		}
		return dst
	}
	if !n.list {
		return appendQuoted(dst, untilZero(b))
	}
	dst = append(dst, '[')
	for separator := ""; len(b) > 0; separator = ", " {
		one, rest, _ := bytes.Cut(b, []byte{0})
		dst = appendQuoted(append(dst, separator...), one)
		b = rest
	}
	return append(dst, ']')
}

func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	dst = escape.Append(dst, text)
	return append(dst, '"')
}
