package live

import (
	"encoding/binary"
	"strings"

	"github.com/ringtap/ringtap/internal/script/syntax"
)

// probeName is what the probe builtin shows at a source: for a source of several places what
// stands before the function's name.
func probeName(s *source, point *syntax.AttachPoint) string {
	switch {
	case s.probe == nil || len(point.Args) == 0:
		return point.Text
	case s.places == nil && s.name == "":
		return point.Text
	}
	switch point.Provider {
	case "tracepoint":
		return "tracepoint:" + s.name
	case "rawtracepoint":
		_, event, _ := strings.Cut(s.name, ":")
		return "rawtracepoint:" + event
	case "uprobe", "uretprobe", "usdt":
		if strings.HasPrefix(point.Args[len(point.Args)-1], "0x") {
			return point.Text
		}
	}
	prefix := point.Provider + ":" + strings.Join(point.Args[:len(point.Args)-1], ":") + ":"
	if len(point.Args) == 1 {
		prefix = point.Provider + ":"
	}
	if s.places != nil {
		return prefix
	}
	if !strings.ContainsAny(point.Args[len(point.Args)-1], "*?[") {
		return point.Text
	}
	return prefix + s.name
}

// function is the name of the function that was hit.
func (h *hit) function() string {
	if h.source.places == nil {
		return h.source.name
	}
	addr, ok := firstAddress(h.raw)
	if !ok {
		return h.source.name
	}
	if int64(addr) < 0 { // in the kernel
		if place, ok := h.source.kernelPlace(addr); ok {
			return h.source.places[place]
		}
		return h.source.name
	}
	if mapping, ok := h.process().Find(addr); ok {
		if name, ok := h.source.places[mapping.Offset+addr-mapping.Start]; ok {
			return name
		}
	}
	return h.source.name
}

// firstAddress returns the first field of a probe's record, which is __probe_ip or, of a return,
// __probe_func.
func firstAddress(raw []byte) (addr uint64, ok bool) {
	if len(raw) < addressAt+8 {
		return 0, false
	}
	return binary.NativeEndian.Uint64(raw[addressAt:]), true
}

// addressAt is where firstAddress is.
const addressAt = 8

// kernelPlace returns which of the places of a source an address of the kernel is.
func (s *source) kernelPlace(addr uint64) (place uint64, ok bool) {
	// The probe of a function that begins with endbr64 is behind that.
	for _, at := range []uint64{addr, addr - 4} {
		if _, ok := s.places[at]; ok {
			return at, true
		}
	}
	return 0, false
}
