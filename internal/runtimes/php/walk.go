package php

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// walker is the work space of walks.
type walker struct {
	*php   // uses only fields that do not change
	memory interp.Memory
	frame  [frameSize]byte
}

// Walker implements interp.Runtime.
func (r *php) Walker(m interp.Memory) interp.Walker {
	return &walker{php: r, memory: interp.MemoryOr(m, r.memory)}
}

// Walk implements interp.Walker.
func (w *walker) Walk(dst []interp.Call, t *interp.Thread) ([]interp.Call, callchain.End) {
	if t.TID != w.tid {
		return dst, callchain.Complete
	}
	if !w.memory.Read(w.head, w.frame[:8]) {
		return dst, callchain.Lost
	}
	frame := binary.LittleEndian.Uint64(w.frame[:])
	start := len(dst)
	for steps := 2*cap(dst) + 2; frame != 0; steps-- {
		if frame%8 != 0 || !w.memory.Read(frame, w.frame[:]) {
			return dst, callchain.Lost
		}
		frame = binary.LittleEndian.Uint64(w.frame[frameBack:])
		code := binary.LittleEndian.Uint64(w.frame[frameFunction:])
		entry := binary.LittleEndian.Uint32(w.frame[frameInfo:])&top != 0
		switch {
		case code == 0: // the caller of an include or a generator
			if entry && len(dst) > start {
				dst[len(dst)-1].Entry = true
			}
		case len(dst) == cap(dst):
			return dst, callchain.Cut
		default:
			dst = append(dst, interp.Call{Code: code, At: binary.LittleEndian.Uint64(w.frame[frameLine:]), Entry: entry})
		}
		if steps == 0 {
			return dst, callchain.Cut
		}
	}
	return dst, callchain.Complete
}
