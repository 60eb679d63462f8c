package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// EventFormat is the format of a tracepoint's records, as the kernel described it when the
// recording was made.
type EventFormat struct {
	System string // "sched"
	Text   []byte // of the file "format" in tracefs
}

// tracingMagic is what tracing data starts with.
const tracingMagic = "\x17\x08\x44tracing"

// errTracing is returned if a recording's tracing data does not begin as perf writes it.
var errTracing = errors.New("the formats of tracepoints do not start as such")

// addTracingData parses HEADER_TRACING_DATA, which has the formats of the recorded tracepoints. Its
// layout is that of trace.dat, version 6 (tracing_data_get in tools/perf/util/trace-event-info.c).
// The names of threads at its end are of no use here.
func (f *File) addTracingData(b []byte) error {
	const endianLongPage = 1 + 1 + 4 // byte order, size of long, page size
	b, ok := bytes.CutPrefix(b, []byte(tracingMagic))
	if !ok {
		return errTracing
	}
	r := fields{rest: b}
	r.word() // version
	r.bytes(endianLongPage)
	for range 2 { // header_page and header_event
		r.word()
		r.bytes(r.u64())
	}
	f.addFormats(&r, "ftrace", r.u32())
	for systems := r.u32(); systems > 0 && !r.short; systems-- {
		name := r.word()
		f.addFormats(&r, name, r.u32())
	}
	r.bytes(uint64(r.u32())) // symbols, which perf leaves out
	f.KernelStrings = r.bytes(uint64(r.u32()))
	if r.short {
		return errFeature
	}
	return nil
}

// shortestFormat is fewer bytes than any format has. Without it, a hostile file could name as many
// formats as a tenth of its size.
const shortestFormat = 64

// addFormats parses the n formats of a system.
func (f *File) addFormats(r *fields, system string, n uint32) {
	for ; n > 0; n-- {
		text := r.bytes(r.u64())
		if r.short {
			return
		}
		if len(text) >= shortestFormat {
			f.Formats = append(f.Formats, EventFormat{System: system, Text: text})
		}
	}
}

// word reads a string that ends with a zero.
func (r *fields) word() string {
	word, rest, ok := bytes.Cut(r.rest, []byte{0})
	if !ok {
		r.rest, r.short = nil, true
		return ""
	}
	r.rest = rest
	return string(word)
}

// tracingData reads the tracing data that follows its record in a pipe.
func (f *File) tracingData(w *walker, record []byte) error {
	size := uint64(binary.LittleEndian.Uint32(record[headerSize:]))
	b, err := section{uint64(w.offset), size}.read(w.s.r, w.s.end)
	if err != nil {
		return err
	}
	return f.addTracingData(b)
}
