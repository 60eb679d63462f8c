package perfdata

import (
	"encoding/binary"
	"slices"
)

// Tracing is what HEADER_TRACING_DATA holds: what a reader needs to print records of tracepoints.
type Tracing struct {
	// Page and Event are tracefs's events/header_page and events/header_event. Only readers of whole
	// trace rings need them.
	Page, Event []byte
	Formats     []EventFormat
	// Strings is tracefs's printk_formats: the texts that formats name by their addresses.
	Strings []byte
}

// Bytes returns the tracing data as WriteOptions wants it: in the layout of trace.dat, version 0.6
// (tools/perf/util/trace-event-info.c), without symbols and names of threads.
func (t *Tracing) Bytes() []byte {
	const version, longBytes, pageBytes = "0.6", 8, 4096
	b := append([]byte(tracingMagic), version...)
	b = append(b, 0, 0, longBytes) // little endian
	b = binary.LittleEndian.AppendUint32(b, pageBytes)
	b = appendSized(append(b, "header_page\x00"...), t.Page)
	b = appendSized(append(b, "header_event\x00"...), t.Event)
	b = binary.LittleEndian.AppendUint32(b, 0) // ftrace's own events
	systems := make(map[string][][]byte)
	var names []string
	for _, f := range t.Formats {
		if systems[f.System] == nil {
			names = append(names, f.System)
		}
		systems[f.System] = append(systems[f.System], f.Text)
	}
	slices.Sort(names)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(names)))
	for _, name := range names {
		b = append(append(b, name...), 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(systems[name])))
		for _, text := range systems[name] {
			b = appendSized(b, text)
		}
	}
	b = binary.LittleEndian.AppendUint32(b, 0) // symbols
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Strings)))
	b = append(b, t.Strings...)
	return appendWords(b, 0) // names of threads
}

// appendSized appends the size of a text, in 8 bytes, and the text.
func appendSized(b, text []byte) []byte {
	return append(appendWords(b, uint64(len(text))), text...)
}
