package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/measure"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

// histSubject is what is measured, attached.
type histSubject struct {
	text      string   // what it is called
	functions []string // with a histogram each
	events    []measure.Event
	value     bool
	inKernel  bool
	atEntry   bool // stacks are taken where a function's frame is not set up
	kprobes   []*kprobe.Attachment
	closers   []func() error
}

// close removes the events, and says what stays behind.
func (s *histSubject) close(out *console) {
	for _, closer := range slices.Backward(s.closers) {
		if err := closer(); err != nil {
			fmt.Fprintln(out.stderr, "ringtap: probes stay behind:", err)
		}
	}
}

// attach makes events of what is to be measured.
func (h *histFlags) attach(out *console, spec *histSpec, filter string, target perfevent.Target) (*histSubject, error) {
	s := &histSubject{text: spec.text, value: spec.value, inKernel: spec.place != inUser}
	var err error
	switch {
	case spec.place == atTracepoint:
		err = s.attachTracepoint(spec, filter)
	case spec.value && spec.place == inKernel:
		err = h.attachKernelValue(out, s, spec, filter, target)
	case spec.value:
		err = h.attachUserValue(out, s, spec, filter, target)
	default:
		err = h.attachCalls(out, s, spec, target)
	}
	if err != nil {
		s.close(out)
		return nil, err
	}
	return s, nil
}

// attachTracepoint counts the values of a field.
func (s *histSubject) attachTracepoint(spec *histSpec, filter string) error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	names, err := chooseTracepoints(tracefs, spec.probe)
	if err != nil {
		return err
	}
	for i, name := range names {
		format, err := tracefs.Format(name.System, name.Name)
		if err != nil {
			return err
		}
		value, err := valueOf(format, spec.field)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if filter != "" {
			if err := tracefs.ExplainFilter(name.System, name.Name, filter); err != nil {
				return wrongDefinition(err)
			}
		}
		s.functions = append(s.functions, name.String()+" "+spec.field)
		s.events = append(s.events, measure.Event{
			Event: perfevent.Tracepoint(uint64(format.ID), name.String()), Filter: filter,
			Role: measure.Value, Function: i, Value: func(sample *perfevent.Sample) (int64, bool) { return value(sample.Raw) },
		})
	}
	return nil
}

// valueOf returns what reads a field of an event's records.
func valueOf(format *ftrace.Format, name string) (func(raw []byte) (int64, bool), error) {
	field := format.Field(name)
	switch {
	case field == nil:
		var known []string
		for i := range format.Fields {
			if !format.Fields[i].Common {
				known = append(known, format.Fields[i].Name)
			}
		}
		return nil, fmt.Errorf("no field %s: there are %s", visible.Text(name), strings.Join(known, ", "))
	case field.String:
		return nil, fmt.Errorf("the field %s is text: a histogram is of numbers", name)
	case field.Array || field.Location != ftrace.Inline:
		return nil, fmt.Errorf("the field %s is an array: a histogram is of numbers", name)
	}
	return field.Int, nil
}

// attachUserValue counts the values of an argument of a user probe.
func (h *histFlags) attachUserValue(out *console, s *histSubject, spec *histSpec, filter string, target perfevent.Target) error {
	plan, err := resolve(out, spec.String(), h.uprobeOptions(out))
	if err != nil {
		return err
	}
	s.closers = append(s.closers, plan.Close)
	field := ""
	for i := range plan.Sites {
		field = countable(plan.Sites[i].Args)
	}
	attachment, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: target, Filter: filter, Merge: true, Logger: out.logger(h.verbose)})
	if err != nil {
		return wrongDefinition(err)
	}
	s.closers = append(s.closers, attachment.Close)
	s.atEntry = plan.AtEntry()
	s.functions = []string{spec.text}
	for i, event := range attachment.Events {
		value, err := valueOf(attachment.Formats[i], field)
		if err != nil {
			return &usageError{err}
		}
		s.events = append(s.events, measure.Event{
			Event: event, Filter: attachment.Filter, Role: measure.Value,
			Value: func(sample *perfevent.Sample) (int64, bool) { return value(sample.Raw) },
		})
	}
	return nil
}

// attachKernelValue counts the values of an argument of a kernel probe.
func (h *histFlags) attachKernelValue(out *console, s *histSubject, spec *histSpec, filter string, target perfevent.Target) error {
	plan, err := resolveKernel(out, spec.String(), h.kprobeOptions(out))
	if err != nil {
		return err
	}
	field := ""
	for i := range plan.Sites {
		field = countable(plan.Sites[i].Args)
	}
	attachment, err := kprobe.Attach(plan, kprobe.AttachOptions{Target: target, Filter: filter, Merge: true, UserStacks: h.user, Logger: out.logger(h.verbose)})
	if err != nil {
		return wrongDefinition(err)
	}
	s.kprobes = append(s.kprobes, attachment)
	s.closers = append(s.closers, attachment.Close)
	s.functions = []string{spec.text}
	for i, event := range attachment.Events {
		value, err := valueOf(attachment.Formats[i], field)
		if err != nil {
			return &usageError{err}
		}
		var made []byte
		s.events = append(s.events, measure.Event{
			Event: event, Filter: attachment.Filter, Role: measure.Value, IntrRegs: attachment.IntrRegs,
			Value: func(sample *perfevent.Sample) (int64, bool) {
				if attachment.Raw == nil {
					return value(sample.Raw)
				}
				made = attachment.Raw(made[:0], i, sample)
				return value(made)
			},
		})
	}
	return nil
}

// countable gives the argument of a site a type with a sign where it has none, so
// that errors are less than zero, and returns its name.
func countable(args []ftrace.FetchArg) string {
	if args[0].Type == "" {
		args[0].Type = "s64"
	}
	return args[0].Name
}

func (h *histFlags) uprobeOptions(out *console) uprobe.Options {
	pid := h.pid
	if pid == 0 {
		pid = h.tid
	}
	return uprobe.Options{PID: pid, Exact: h.exact, MaxSites: h.limit, Logger: out.logger(h.verbose)}
}

func (h *histFlags) kprobeOptions(out *console) kprobe.Options {
	return kprobe.Options{MaxSites: h.limit, Logger: out.logger(h.verbose)}
}

// errNoReturns says that the end of calls can't be seen.
var errNoReturns = errors.New("the end of its calls can't be seen: it has no return that can be probed")
