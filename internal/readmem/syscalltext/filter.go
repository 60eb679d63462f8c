package syscalltext

import (
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/probe/eventfilter"
	"github.com/ringtap/ringtap/perfevent"
)

// filter makes a source compare the texts that its filter names. If the records lack the texts
// but the kernel can compare them in memory, filter adds a second source, which gets the records
// that the kernel finds to match. The first source then gets those that the kernel can't decide.
// Their texts are compared when they have been read.
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

// compared appends the record of a sample that the kernel has found to match. index is its source.
// If the texts do not match, those that were read late have changed since, and are dropped.
func (a *Attachment) compared(dst []byte, index int, f *eventfilter.Filter, s *perfevent.Sample) []byte {
	e := a.events[index]
	a.scratch = e.tracepoint(a.scratch[:0], s.Raw)
	texts := a.texts(index, s)
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
