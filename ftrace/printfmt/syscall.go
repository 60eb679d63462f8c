package printfmt

import (
	"bytes"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/cexpr"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// SyscallText returns the name of the field with the text that a system call's parameter points
// to. The formats of events sys_enter_* have such fields since Linux 6.19.
func SyscallText(parameter string) string { return "__" + parameter + "_val" }

// SyscallTextCut reports whether a recorded text of a system call may be cut. By default Linux
// records 63 bytes, and ends a longer text with three dots. tracefs's file
// syscall_user_buf_size changes the limit.
func SyscallTextCut(text []byte) bool {
	const leastCut = 32
	text = bytes.TrimRight(text, "\x00")
	return len(text) >= leastCut && bytes.HasSuffix(text, []byte("..."))
}

// SyscallTextLate returns the name of a one-byte field that a caller may add; no kernel has it.
// If it is not zero, the text of the parameter was read later than the event and may have
// changed. Then a tilde is printed before the text.
func SyscallTextLate(parameter string) string { return "__" + parameter + "_late" }

// syscall sets up the printer if the event is a system call's. The kernel does not use the
// print format of such an event itself (kernel/trace/trace_syscalls.c). It prints
//
//	sys_openat(dfd: 0xffffff9c, filename: 0x7f…, flags: 0x80000, mode: 0)
//	sys_openat -> 0x3
//
// without the name of the event before it. If the record has the text that a pointer points to,
// the text follows the pointer in quotes. Here are two differences from the kernel: openat's
// parameters are printed like those of all other calls, and the bytes of a buffer are printed
// as escaped text, not in hexadecimal.
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

// arguments returns the fields of the parameters. It skips the number of the call, which is the
// event's first own field, and the texts.
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

// isVector reports whether a parameter points to an array of strings.
func isVector(f *ftrace.Field) bool { return strings.Contains(f.Type, "char *const *") }

// wordPiece prints a field of 8 bytes in hexadecimal, regardless of its type.
func wordPiece(literal string, f *ftrace.Field) piece {
	return piece{
		literal:    literal,
		conversion: conversion{verb: 'd', width: -1, precision: -1, prefix: true, base: 16, typ: cexpr.ULong},
		arg:        &fieldNode{field: f, typ: cexpr.ULong},
	}
}

// syscallText prints the text that a pointer points to, and the characters before it.
type syscallText struct {
	text   *ftrace.Field
	late   *ftrace.Field // nil if it is never late
	list   bool          // several texts, each with a NUL byte at its end
	count  *ftrace.Field // number of bytes, if it is a buffer and not a text that ends with a NUL byte
	always bool          // print quotes even if empty, as the kernel does for text that it could not read
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
