package live

import (
	"encoding/binary"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/symbols"
)

// probeName returns the value of the probe builtin at a source. If placed is true, it returns only
// the part before the name of the function that was hit.
func probeName(s *source, point *syntax.AttachPoint) (name string, placed bool) {
	if s.probe == nil || len(point.Args) == 0 {
		return point.Text, false
	}
	point = withPath(point, s.probe.Path)
	switch {
	case s.event.Iterates != "":
		return "rawtracepoint:" + point.Args[1], false
	case s.places == nil && s.name == "":
		return point.Text, false
	}
	switch point.Provider {
	case "tracepoint":
		return "tracepoint:" + s.name, false
	case "rawtracepoint":
		_, event, _ := strings.Cut(s.name, ":")
		return "rawtracepoint:" + event, false
	}
	last := len(point.Args) - 1
	if !strings.ContainsAny(point.Args[last], "*?[") && !s.called(point) {
		return point.Text, false
	}
	prefix := strings.Join(append([]string{point.Provider}, point.Args[:last]...), ":") + ":"
	if s.places != nil {
		return prefix, true
	}
	return prefix + s.function(), false
}

// withPath returns an attach point in which the path of the probed file replaces the name of a library
// or program, as bpftrace shows it.
func withPath(point *syntax.AttachPoint, path string) *syntax.AttachPoint {
	name := point.Args[0]
	rest, ok := strings.CutPrefix(point.Text, point.Provider+":"+name)
	if path == "" || !ok || name == "" || strings.ContainsAny(name, "/*?[") {
		return point
	}
	found := *point
	found.Text = point.Provider + ":" + path + rest
	found.Args = append([]string{path}, point.Args[1:]...)
	return &found
}

// called reports whether an attach point names functions of C++ or Rust as their source code does, not by
// symbol. bpftrace then shows the symbol of the function that was hit.
func (s *source) called(point *syntax.AttachPoint) bool {
	name := point.Args[len(point.Args)-1]
	symbol := s.name
	for _, place := range s.places {
		symbol = place.Function
		break
	}
	if s.event.Place != plan.User || point.Provider == "usdt" || symbol == name || symbols.Demangle(symbol) == symbol {
		return false
	}
	meant, err := symbols.Meant(name)
	return err == nil && meant(symbol)
}

// function returns the name of the source's function. For a kernel function, it leaves out the module.
func (s *source) function() string {
	if s.event.Place == plan.Kernel {
		return s.name[strings.LastIndexByte(s.name, ':')+1:]
	}
	return s.name
}

// function returns the name of the function that was hit.
func (h *hit) function() string {
	if place, ok := h.place(); ok {
		return h.source.places[place].Function
	}
	return h.source.function()
}

// place returns which of the places of the source was hit.
func (h *hit) place() (place uint64, ok bool) {
	if h.source.places == nil {
		return 0, false
	}
	addr, ok := firstAddress(h.raw)
	if !ok {
		return 0, false
	}
	if int64(addr) < 0 { // in the kernel
		return h.source.kernelPlace(addr)
	}
	mapping, ok := h.process().Find(addr)
	if !ok {
		return 0, false
	}
	place = mapping.Offset + addr - mapping.Start
	_, ok = h.source.places[place]
	return place, ok
}

// firstAddress returns the first field of a probe's record, which is __probe_ip or, at a return,
// __probe_func.
func firstAddress(raw []byte) (addr uint64, ok bool) {
	if len(raw) < addressAt+8 {
		return 0, false
	}
	return binary.NativeEndian.Uint64(raw[addressAt:]), true
}

// addressAt is the offset of that field in the record.
const addressAt = 8

// kernelPlace returns which of the places of a source an address of the kernel is.
func (s *source) kernelPlace(addr uint64) (place uint64, ok bool) {
	// In a function that begins with endbr64 (4 bytes), the probe is after that instruction.
	for _, at := range []uint64{addr, addr - 4} {
		if _, ok := s.places[at]; ok {
			return at, true
		}
	}
	return 0, false
}
