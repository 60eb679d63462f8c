package syscalltext

import (
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/eventfilter"
	"github.com/ringtap/ringtap/perfevent"
)

// filter has a source compare the texts that a filter names, by the records that its
// format describes. Where texts are read a moment after the call, and the kernel can
// compare them at once, it does; what it can't read then comes by a source of its own, and
// is compared when it has been read.
func (a *Attachment) filter(i int, params []Param, o Options) error {
	if o.Filter == "" {
		return nil
	}
	source, way := &a.Sources[i], a.Methods[i]
	texts := make(map[string]eventfilter.Text, len(params))
	for _, p := range params {
		text := eventfilter.Text{Pointer: source.Format.Field(p.Name), Vector: p.Vector}
		if way != None {
			text.Field = source.Format.Field(printfmt.SyscallText(p.Name))
		}
		texts[p.Name] = text
	}
	f, err := eventfilter.Split(o.Filter, source.Format, texts)
	if err != nil {
		return err
	}
	source.Filter = f.Kernel
	if !f.ComparesText() {
		return nil
	}
	source.Keep = f.Match
	exact, rest, ok := f.ByAddress()
	if way == Kprobe || a.events[i] == nil || !ok { // the record has the text
		return nil
	}
	for _, filter := range []string{exact, rest} {
		if err := o.Tracefs.ExplainFilter(source.Format.System, source.Format.Name, filter); err != nil {
			o.Logger.Info("texts are compared when they have been read", "event", source.Format.Name, "error", err)
			return nil
		}
	}
	source.Filter = rest
	index, compared := len(a.Sources), *source
	compared.Filter, compared.Keep = exact, nil
	compared.Record = func(dst []byte, s *perfevent.Sample) []byte { return a.compared(dst, index, f, s) }
	a.Sources = append(a.Sources, compared)
	a.Methods, a.events = append(a.Methods, way), append(a.events, a.events[i])
	return nil
}

// compared appends the record of a sample of the source at index, which the kernel has found to
// match. A text that was read later and does not match is another one.
func (a *Attachment) compared(dst []byte, index int, f *eventfilter.Filter, s *perfevent.Sample) []byte {
	e := a.events[index]
	a.scratch = e.tracepoint(a.scratch[:0], s.Raw)
	texts := a.reader.take(index, e, s)
	if texts == nil {
		texts = make([]text, len(e.layout.params))
	}
	for i, p := range e.layout.params {
		if known, ok := f.Text(p.Name); ok {
			texts[i] = text{bytes: append([]byte(known), 0)}
		}
	}
	a.count(e, s, texts)
	start := len(dst)
	dst = e.layout.append(dst, a.scratch, texts)
	if f.Match(dst[start:]) != eventfilter.No {
		return dst
	}
	for i := range texts {
		if texts[i].late {
			texts[i] = text{}
		}
	}
	return e.layout.append(dst[:start], a.scratch, texts)
}
