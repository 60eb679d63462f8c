package trace

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// places has formats for an event that several probes share, by the file offset or kernel address
// of each probe. Each format is the event's with the probe's name. It is nil for other events.
type places map[uint64]*ftrace.Format

func newPlaces(source *probe.Source) places {
	if source.Places == nil {
		return nil
	}
	p := make(places, len(source.Places))
	for offset, place := range source.Places {
		format := *source.Format
		format.Name = place.Event
		p[offset] = &format
	}
	return p
}

// format returns the format of the probe that a sample belongs to. It is the event's if the process
// does not map the file any more.
func (p places) format(table *process.Table, sample *perfevent.Sample, event *ftrace.Format) *ftrace.Format {
	// The first field is __probe_ip or, for a return probe, __probe_func.
	const first = 8
	if len(sample.Raw) < first+8 {
		return event
	}
	addr := binary.NativeEndian.Uint64(sample.Raw[first:])
	if isKernel(addr) {
		return p.kernelFormat(addr, event)
	}
	mapping, ok := table.Process(int(int32(sample.PID))).Find(addr)
	if !ok {
		return event
	}
	if format := p[mapping.Offset+addr-mapping.Start]; format != nil {
		return format
	}
	return event
}

// isKernel reports whether an address is a kernel probe's, and not a user probe's or a file offset.
func isKernel(addr uint64) bool { return int64(addr) < 0 }

// landingPad is the length of endbr64. Some kernel functions start with it, and their probe is
// after it.
const landingPad = 4

// kernelFormat is format for kernel probes.
func (p places) kernelFormat(addr uint64, event *ftrace.Format) *ftrace.Format {
	if format := p[addr]; format != nil {
		return format
	}
	if format := p[addr-landingPad]; format != nil {
		return format
	}
	return event
}

// inFiles reports whether any place is in a file. Then the mappings of processes are needed.
func (p places) inFiles() bool {
	for place := range p {
		if !isKernel(place) {
			return true
		}
	}
	return false
}
