package follow

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
)

// places are the formats of an event of several user probes, by the file offset
// of each: the event's own under another name. Nil for all other events.
type places map[uint64]*ftrace.Format

func newPlaces(e *Event) places {
	if e.Places == nil {
		return nil
	}
	p := make(places, len(e.Places))
	for offset, name := range e.Places {
		format := *e.Format
		format.Name = name
		p[offset] = &format
	}
	return p
}

// format returns the format of the probe that a record is of, or the event's
// where the process has no such file mapped any more.
func (p places) format(in *process.Process, raw []byte, event *ftrace.Format) *ftrace.Format {
	// The first field is __probe_ip, of a return probe __probe_func.
	const first = 8
	if len(raw) < first+8 {
		return event
	}
	addr := binary.NativeEndian.Uint64(raw[first:])
	mapping, ok := in.Find(addr)
	if !ok {
		return event
	}
	if format := p[mapping.Offset+addr-mapping.Start]; format != nil {
		return format
	}
	return event
}
