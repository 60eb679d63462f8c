package show

import (
	"io"
	"strconv"
	"time"

	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/script/value"
)

// A Printer writes what programs print. It is for one goroutine. It buffers: see Flush and Mode.
type Printer struct {
	Dialect Dialect
	Names   Names
	JSON    bool
	Raw     bool // text of traced processes is written as it is: see visible
	Mode    Mode
	Failed  func() // is called when a write has failed, unless nil

	out, log io.Writer
	buf      []byte
	err      error
}

// Mode says when a Printer writes what it has.
type Mode uint8

// The modes of bpftrace's option -B.
const (
	Lines Mode = iota // after each message that ends a line, and at Flush
	Full              // when the buffer is full, and at Flush
	None              // after each message
)

const bufferSize = 64 << 10

// NewPrinter returns a Printer that writes what programs print to out, and messages about the
// run to log.
func NewPrinter(out, log io.Writer, d Dialect, names Names) *Printer {
	return &Printer{Dialect: d, Names: names, out: out, log: log, buf: make([]byte, 0, bufferSize)}
}

// done is called after each message.
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

// Flush writes what is in the buffer. It returns the first error of a write: after it, nothing
// is written any more.
func (p *Printer) Flush() error {
	p.write()
	return p.err
}

// Err returns the first error of a write.
func (p *Printer) Err() error { return p.err }

// Printf prints a formatted message.
func (p *Printer) Printf(f *Format, args []value.Value) {
	if p.JSON {
		p.jsonMessage("printf", f.Append(p, nil, args))
		return
	}
	p.buf = f.Append(p, p.buf, args)
	p.done()
}

// Sprintf returns a formatted message for a reader, escaped as Printf's output is.
func (p *Printer) Sprintf(f *Format, args []value.Value) string {
	return string(f.Append(p, nil, args))
}

// SprintfRaw returns a formatted message whose bytes have a meaning: the command of system, the file of
// cat.
func (p *Printer) SprintfRaw(f *Format, args []value.Value) string {
	raw := *p
	raw.Raw = true
	return string(f.Append(&raw, nil, args))
}

// Value prints a value that is no map.
func (p *Printer) Value(t *types.Type, v value.Value) {
	if p.JSON {
		p.buf = append(p.buf, `{"type": "value", "data": `...)
		p.buf = append(p.json(p.buf, t, v), "}\n"...)
	} else {
		p.buf = append(p.line(p.buf, t, v), '\n')
	}
	p.done()
}

// Text returns a value as print shows it.
func (p *Printer) Text(t *types.Type, v value.Value) string { return string(p.text(nil, t, v, 8)) }

// Time prints a time in strftime's format.
func (p *Printer) Time(format string, at time.Time) {
	if p.JSON {
		p.jsonMessage("time", Strftime(nil, format, at, false))
		return
	}
	p.buf = Strftime(p.buf, format, at, false)
	p.done()
}

// Cat prints the text of a file.
func (p *Printer) Cat(text []byte) { p.message("cat", text, false) }

// System prints what a command that system started wrote.
func (p *Printer) System(text []byte) { p.message("syscall", text, false) }

// Join prints strings with a delimiter between them, up to the first that is empty. They may be
// such as were read later than the hit.
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

// message prints a message of a kind.
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

// Attached says how many probes are attached. The older dialects say it before they are.
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
	if p.Dialect.Attached {
		p.write()
		_, _ = io.WriteString(p.log, "Attached "+n+" probe"+plural+"\n")
		return
	}
	p.buf = append(p.buf, "Attaching "+n+" probe"+plural+"...\n"...)
	p.done()
}

// Lost says that events were lost.
func (p *Printer) Lost(events uint64) {
	n := strconv.FormatUint(events, 10)
	switch {
	case p.JSON:
		p.count("lost_events", "events", n)
	case p.Dialect.Attached:
		p.write()
		_, _ = io.WriteString(p.log, "Lost "+n+" events\n")
	default:
		p.buf = append(p.buf, "Lost "+n+" events\n"...)
		p.done()
	}
}

// count prints a JSON message that has one number.
func (p *Printer) count(kind, name, n string) {
	p.buf = append(p.buf, `{"type": "`+kind+`", `...)
	if p.Dialect.Counts {
		p.buf = append(p.buf, `"count": `+n+`, `...)
	}
	p.buf = append(p.buf, `"data": {"`+name+`": `+n+"}}\n"...)
	p.done()
}

// End prints what stands between the last event and the maps.
func (p *Printer) End() {
	if p.JSON && !p.Dialect.GapInJSON {
		return
	}
	p.buf = append(p.buf, "\n\n"...)
	p.done()
}
