package syntax

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// headers returns the macros that #include <…> defines. The types of headers come from the kernel's
// type information, which does not contain macros. The list has the ones that programs use, except
// names that are enum constants in the kernel.
func headers() []header {
	errors, signals := map[string]int{}, map[string]int{}
	for n := 1; n < 134; n++ {
		if name := unix.ErrnoName(syscall.Errno(n)); name != "" {
			errors[name] = n
		}
	}
	for n := 1; n < 32; n++ {
		if name := unix.SignalName(syscall.Signal(n)); name != "" {
			signals[name] = n
		}
	}
	return append(headerTable(), header{"linux/errno.h", errors}, header{"linux/signal.h", signals})
}

// HeaderOf returns the header that defines a macro, as programs include it, or "" if none is known.
func HeaderOf(macro string) string {
	for _, h := range headers() {
		if _, ok := h.macros[macro]; ok {
			return h.path
		}
	}
	return ""
}

// defineHeaders defines the macros of headers, unless the program has defined them itself.
func (p *preprocessor) defineHeaders() {
	if p.headersDone {
		return
	}
	p.headersDone = true
	for _, h := range headers() {
		for name, value := range h.macros {
			if p.macros[name] == nil {
				p.define(token{}, newLexer("", name+" "+strconv.Itoa(value)))
			}
		}
	}
}
