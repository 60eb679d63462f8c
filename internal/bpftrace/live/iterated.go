package live

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// iterated makes tracepoints call their iterator functions (see plan.Iterator). These are probed if
// clauses take the arguments of a tracepoint. A tracepoint with one handler calls the handler directly.
// With several handlers it calls the iterator function, so iterated adds two that record nothing:
//
//	tracepoint → __traceiter_NAME(…, arguments) ─┬─ the handler of a trace instance that is off
//	                    │                        └─ perf's handler, of an event that is off
//	                  kprobe → sample → hit
type iterated struct {
	instance *ftrace.Instance
	events   *perfevent.Counters
}

// attachIterated adds two handlers to each tracepoint whose arguments clauses take.
func (a *Attachment) attachIterated() error {
	var used []string
	for _, s := range a.sources {
		if s.event.Iterates != "" {
			used = append(used, s.event.Iterates)
		}
	}
	if len(used) == 0 {
		return nil
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	a.iterated = &iterated{}
	if a.iterated.instance, err = tracefs.NewInstance(); err != nil {
		return err
	}
	for _, setting := range [][2]string{{"tracing_on", "0"}, {"buffer_size_kb", "1"}} {
		if err := a.iterated.instance.Write(setting[0], setting[1]); err != nil {
			return err
		}
	}
	var events []perfevent.Event
	for _, name := range used {
		system, event, _ := strings.Cut(name, ":")
		id, err := tracefs.EventID(system, event)
		if err != nil {
			return err
		}
		if err := a.iterated.instance.Write("events/"+system+"/"+event+"/enable", "1"); err != nil {
			return fmt.Errorf("use the tracepoint %s: %w", name, err)
		}
		events = append(events, perfevent.Tracepoint(id, name))
	}
	a.iterated.events, err = perfevent.OpenCounters(perfevent.Thread(os.Getpid()), events, perfevent.Options{Logger: a.options.Logger})
	return err
}

// close removes the handlers.
func (i *iterated) close() error {
	var errs []error
	if i.events != nil {
		errs = append(errs, i.events.Close())
	}
	if i.instance != nil {
		errs = append(errs, i.instance.Close())
	}
	return errors.Join(errs...)
}
