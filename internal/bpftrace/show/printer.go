package show

import (
	"io"
	"strconv"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// A Printer prints the output of programs. Only one goroutine may use it. It buffers: see Flush and
// Mode.
type Printer struct {
	Dialect Dialect
	names   Names
	JSON    bool
	Raw     bool // print text of traced processes without escapes: see visible
	Mode    Mode
	Failed  func() // called when a write has failed; may be nil

	out, log io.Writer
	buf      []byte
	err      error
}

// Mode says when a Printer writes its buffer.
type Mode uint8

// The modes of bpftrace's option -B.
const (
	Lines Mode = iota // after each message that ends a line, and at Flush
	Full              // when the buffer is full, and at Flush
	None              // after each message
)

const bufferSize = 64 << 10

// NewPrinter returns a Printer that writes a program's output to out, and messages about the run to
// log.
func NewPrinter(out, log io.Writer, d Dialect, names Names) *Printer {
	return &Printer{Dialect: d, names: names, out: out, log: log, buf: make([]byte, 0, bufferSize)}
}

// done is called after each message, and writes the buffer if the mode says so.
func (p *Printer) done() {
	switch {
	case len(p.buf) == 0:
	case len(p.buf) >= bufferSize,
		p.Mode == None,
		p.Mode == Lines && p.buf[len(p.buf)-1] == '\n':
		p.write()
	}
}

func (p *Printer) write() {
	if len(p.buf) > 0 && p.err == nil {
		if _, p.err = p.out.Write(p.buf); p.err != nil && p.Failed != nil {
			p.Failed()
		}
	}
	p.buf = p.buf[:0]
}

// Flush writes the buffer. It returns the first write error. After an error, nothing more is
// written.
func (p *Printer) Flush() error {
	p.write()
	return p.err
}

// Err returns the first write error.
func (p *Printer) Err() error { return p.err }

// Printf prints a formatted message.
func (p *Printer) Printf(f *Format, args []value.Value) {
	if p.JSON {
		p.jsonMessage("printf", f.append(p, nil, args))
		return
	}
	p.buf = f.append(p, p.buf, args)
	p.done()
}

// Sprintf returns a formatted message for people, escaped like Printf's output.
func (p *Printer) Sprintf(f *Format, args []value.Value) string {
	return string(f.append(p, nil, args))
}

// SprintfRaw returns a formatted message without escapes, such as the command of system or the file
// name of cat.
func (p *Printer) SprintfRaw(f *Format, args []value.Value) string {
	raw := *p
	raw.Raw = true
	return string(f.append(&raw, nil, args))
}

// Value prints any value except a map.
func (p *Printer) Value(t *types.Type, v value.Value) {
	if p.JSON {
		p.buf = append(p.buf, `{"type": "value", "data": `...)
		p.buf = append(p.json(p.buf, t, v), "}\n"...)
	} else {
		p.buf = append(p.line(p.buf, t, v), '\n')
	}
	p.done()
}

// Text returns a value as print() prints it.
func (p *Printer) Text(t *types.Type, v value.Value) string { return string(p.text(nil, t, v, 8)) }

// Time prints a time in the format of strftime.
func (p *Printer) Time(format string, t time.Time) {
	if p.JSON {
		p.jsonMessage("time", strftime(nil, format, t, false))
		return
	}
	p.buf = strftime(p.buf, format, t, false)
	p.done()
}

// Cat prints the text of a file.
func (p *Printer) Cat(text []byte) { p.message("cat", text, false) }

// System prints the output of a command that system() ran.
func (p *Printer) System(text []byte) { p.message("syscall", text, false) }

// Join prints strings separated by delimiter, up to the first empty one. isLate says that they were
// read later than the hit.
func (p *Printer) Join(words []string, delimiter string, isLate bool) {
	var text []byte
	if isLate {
		text = append(text, late)
	}
	for i, word := range words {
		if word == "" {
			break
		}
		if i > 0 {
			text = append(text, delimiter...)
		}
		text = p.visible(text, word)
	}
	p.message("join", text, true)
}

// message prints a message of a kind. line adds a newline in text.
func (p *Printer) message(kind string, text []byte, line bool) {
	if p.JSON {
		p.jsonMessage(kind, text)
		return
	}
	p.buf = append(p.buf, text...)
	if line {
		p.buf = append(p.buf, '\n')
	}
	p.done()
}

func (p *Printer) jsonMessage(kind string, text []byte) {
	p.buf = append(append(append(p.buf, `{"type": "`...), kind...), `", "data": `...)
	p.buf = append(quote(p.buf, text), "}\n"...)
	p.done()
}

// Attached prints how many probes are attached. The older dialects print it before they are.
func (p *Printer) Attached(probes int) {
	n := strconv.Itoa(probes)
	if p.JSON {
		p.count("attached_probes", "probes", n)
		return
	}
	plural := "s"
	if probes == 1 {
		plural = ""
	}
	if p.Dialect.attached {
		p.write()
		_, _ = io.WriteString(p.log, "Attached "+n+" probe"+plural+"\n")
		return
	}
	p.buf = append(p.buf, "Attaching "+n+" probe"+plural+"...\n"...)
	p.done()
}

// Lost prints how many events were lost.
func (p *Printer) Lost(events uint64) {
	n := strconv.FormatUint(events, 10)
	switch {
	case p.JSON:
		p.count("lost_events", "events", n)
	case p.Dialect.attached:
		p.write()
		_, _ = io.WriteString(p.log, "Lost "+n+" events\n")
	default:
		p.buf = append(p.buf, "Lost "+n+" events\n"...)
		p.done()
	}
}

// count prints a JSON message with one number.
func (p *Printer) count(kind, name, n string) {
	p.buf = append(p.buf, `{"type": "`+kind+`", `...)
	if p.Dialect.counts {
		p.buf = append(p.buf, `"count": `+n+`, `...)
	}
	p.buf = append(p.buf, `"data": {"`+name+`": `+n+"}}\n"...)
	p.done()
}

// End prints the gap between the last event and the maps.
func (p *Printer) End() {
	if p.JSON && !p.Dialect.gapInJSON {
		return
	}
	p.buf = append(p.buf, "\n\n"...)
	p.done()
}
