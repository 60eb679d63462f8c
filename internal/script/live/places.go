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
	// The first field of a probe's record is __probe_ip or, of a return, __probe_func.
	const first = 8
	if len(h.raw) < first+8 {
		return h.source.name
	}
	addr := binary.NativeEndian.Uint64(h.raw[first:])
	if int64(addr) < 0 { // in the kernel
		// The probe of a function that begins with endbr64 is behind that.
		for _, at := range []uint64{addr, addr - 4} {
			if name, ok := h.source.places[at]; ok {
				return name
			}
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
