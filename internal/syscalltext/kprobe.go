package syscalltext

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/perfevent"
)

// kprobe puts a probe on the function of a system call in the place of its
// tracepoint. Its records have the parameters under the tracepoint's names, so
// that filters of one are filters of the other, and the first text.
//
// There is no more than one text in a record. A record of perf's has 8 KiB
// (PERF_MAX_TRACE_SIZE), a path up to 4: of a larger one the kernel complains,
// loudly, and forgets it.
func (a *Attachment) kprobe(f *ftrace.Format, params []Param, tracefs *ftrace.FS) (perfevent.Event, *event, error) {
	if a.group == nil {
		group, err := tracefs.NewGroup("kprobe_events")
		if err != nil {
			return perfevent.Event{}, nil, err
		}
		a.group = group
	}
	id, err := a.group.Define(ftrace.Dynamic{
		Type: 'p', Event: f.Name, Place: callPrefix + strings.TrimPrefix(f.Name, enterPrefix), Args: fetchArgs(f, params),
	})
	if err != nil {
		return perfevent.Event{}, nil, err
	}
	probe, err := tracefs.Format(a.group.Name(), f.Name)
	if err != nil {
		return perfevent.Event{}, nil, err
	}
	inner := &event{layout: newLayout(f, params), probe: probe}
	return perfevent.Tracepoint(id, f.System+":"+f.Name), inner, nil
}

// fetchArgs are the parameters of a system call and its first text. The call's
// registers are in the kernel's memory, the text in the program's.
func fetchArgs(f *ftrace.Format, params []Param) string {
	var args []string
	at := func(i int) string { return fmt.Sprintf("+%d(%s)", argumentAt[i], argument) }
	for i, field := range arguments(f) {
		if i < len(argumentAt) {
			args = append(args, field.Name+"="+at(i)+":x64")
		}
	}
	for _, p := range params {
		if !p.Vector && p.Index < len(argumentAt) {
			args = append(args, printfmt.SyscallText(p.Name)+"=+0("+at(p.Index)+"):ustring")
			break
		}
	}
	return strings.Join(args, " ")
}
