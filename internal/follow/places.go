package follow

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// places are the formats of an event of several probes, by the file offset or the
// kernel's address of each: the event's own under another name. Nil for all other
// events.
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

// format returns the format of the probe that a sample is of, or the event's
// where the process has no such file mapped any more.
func (p places) format(of *process.Table, sample *perfevent.Sample, event *ftrace.Format) *ftrace.Format {
	// The first field is __probe_ip, of a return probe __probe_func.
	const first = 8
	if len(sample.Raw) < first+8 {
		return event
	}
	addr := binary.NativeEndian.Uint64(sample.Raw[first:])
	if isKernel(addr) {
		return p.kernelFormat(addr, event)
	}
	mapping, ok := of.Process(int(int32(sample.PID))).Find(addr)
	if !ok {
		return event
	}
	if format := p[mapping.Offset+addr-mapping.Start]; format != nil {
		return format
	}
	return event
}

// isKernel tells the addresses of kernel probes from those of user probes, and
// from file offsets.
func isKernel(addr uint64) bool { return int64(addr) < 0 }

// landingPad is how many bytes endbr64 has, which a function of the kernel may
// begin with; its probe is behind that.
const landingPad = 4

// kernelFormat is format for a kernel probe.
func (p places) kernelFormat(addr uint64, event *ftrace.Format) *ftrace.Format {
	if format := p[addr]; format != nil {
		return format
	}
	if format := p[addr-landingPad]; format != nil {
		return format
	}
	return event
}

// inFiles tells whether any of the places is in a file, so that the mappings of
// processes must be known.
func (p places) inFiles() bool {
	for place := range p {
		if !isKernel(place) {
			return true
		}
	}
	return false
}
