package ftrace

import "strings"

// syscall makes the printer of a system call's event, whose print format the
// kernel does not follow either (kernel/trace/trace_syscalls.c). It prints
//
//	sys_openat(dfd: 0xffffff9c, filename: 0x7f…, flags: 0x80000, mode: 0)
//	sys_openat -> 0x3
//
// without the name of the event before it.
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
	for i := range p.format.Fields {
		f := &p.format.Fields[i]
		if f.Common || f.Name == "__syscall_nr" || f.Name == "nr" {
			continue
		}
		p.pieces = append(p.pieces, wordPiece(literal+f.Name+": ", f))
		p.pieces[len(p.pieces)-1].syscallArg = true
		literal = ", "
	}
	if len(p.pieces) == 0 {
		p.pieces = []piece{{literal: literal + ")"}}
	} else {
		p.pieces = append(p.pieces, piece{literal: ")"})
	}
	return true
}

// wordPiece prints a field of 8 bytes in hexadecimal, whatever its type says.
func wordPiece(literal string, f *Field) piece {
	return piece{
		literal:    literal,
		conversion: conversion{verb: 'd', width: -1, precision: -1, prefix: true, base: 16, typ: typeULong},
		arg:        &fieldNode{field: f, typ: typeULong},
	}
}
