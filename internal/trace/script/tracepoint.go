package script

import (
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/symbols"
)

// maxStrings bounds the bytes of the kernel's texts that are parsed. A kernel has about a tenth.
const maxStrings = 1 << 20

// printers makes the printers of tracepoints.
type printers struct {
	formats map[uint64]*ftrace.Format // by perf_event_attr.config
	options printfmt.Options
	logger  *slog.Logger
}

// newPrinters parses the formats of a recording's events. texts is perfdata.File.KernelStrings. What no printer can be made of is logged, and its
// samples have no text.
func newPrinters(events []perfdata.Event, formats []perfdata.EventFormat, texts []byte, host process.Host, logger *slog.Logger) *printers {
	p := &printers{formats: make(map[uint64]*ftrace.Format), logger: logger}
	kernelStrings := ftrace.ParseKernelStrings(texts[:min(len(texts), maxStrings)])
	p.options.KernelString = func(addr uint64) (string, bool) {
		text, ok := kernelStrings[addr]
		return text, ok
	}
	p.options.LibTraceEvent = true
	for i := range formats {
		format, err := ftrace.ParseFormat(formats[i].Text)
		if err != nil {
			logger.Info("no format of a tracepoint", "system", formats[i].System, "error", err)
			continue
		}
		if id := uint64(format.ID); isRecorded(events, id) {
			format.System = formats[i].System
			p.formats[id] = format
		}
	}
	kernel := sync.OnceValue(func() *symbols.Kallsyms { return kallsyms(host, logger) })
	p.options.KernelSymbol = func(addr uint64) (name string, offset, size uint64, module string, ok bool) {
		k := kernel()
		if k == nil {
			return "", 0, 0, "", false
		}
		s, ok := k.Lookup(addr)
		return s.Name, addr - s.Start, s.Size, s.Module, ok
	}
	return p
}

// isRecorded reports whether one of the events is the tracepoint with that number.
func isRecorded(events []perfdata.Event, id uint64) bool {
	return slices.ContainsFunc(events, func(e perfdata.Event) bool { return isTracepoint(&e) && e.Attr.Config == id })
}

func isTracepoint(e *perfdata.Event) bool { return e.Attr.Type == unix.PERF_TYPE_TRACEPOINT }

// kallsyms reads the symbols of the recorded kernel.
func kallsyms(host process.Host, logger *slog.Logger) *symbols.Kallsyms {
	f, err := host.Kallsyms()
	if err != nil {
		logger.Info("no kernel symbols", "error", err)
		return nil
	}
	defer f.Close()
	k, err := symbols.ReadKallsyms(f)
	if err != nil {
		logger.Info("no kernel symbols", "error", err)
	}
	return k
}

// of returns the printer of an event, or nil if it has none.
func (p *printers) of(event *perfdata.Event) *printfmt.Printer {
	format := p.formats[event.Attr.Config]
	if format == nil {
		p.logger.Info("the recording has no format of a tracepoint", "event", event.Name)
		return nil
	}
	printer, err := printfmt.New(format, p.options)
	if err != nil {
		p.logger.Info("no format of a tracepoint", "event", event.Name, "error", err)
		return nil
	}
	return printer
}
