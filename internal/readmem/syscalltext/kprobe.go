package syscalltext

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// kprobe defines a probe on a system call's function that replaces the tracepoint f. Its records have
// the parameters under the tracepoint's names, so the same filters work, and the first text.
//
// A record has only one text, because perf's records have at most 8 KiB (PERF_MAX_TRACE_SIZE) and a
// path may take 4 KiB. The kernel logs a warning about a larger record and drops it.
func (a *Attachment) kprobe(f *ftrace.Format, params []Param, tracefs *ftrace.FS) (perfevent.Event, *event, error) {
	if a.group == nil {
		group, err := tracefs.NewGroup("kprobe_events")
		if err != nil {
			return perfevent.Event{}, nil, err
		}
		a.group = group
	}
	id, err := a.group.Define(ftrace.Dynamic{
		Type: 'p', Event: f.Name, Place: arch.Here.SyscallPrefix + strings.TrimPrefix(f.Name, enterPrefix), Args: fetchArgs(f, params),
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

// fetchArgs returns the fetch arguments for the parameters of a system call and its first text.
// The argument of the call's function points to the call's registers (struct pt_regs) in the
// kernel's memory; the text is in the program's.
func fetchArgs(f *ftrace.Format, params []Param) string {
	var args []string
	registers, argument := arch.Here.Syscall, arch.Here.C.Arguments[0].Name
	at := func(i int) string { return fmt.Sprintf("+%d(%%%s)", registers[i].Offset, argument) }
	for i, field := range arguments(f) {
		if i < len(registers) {
			args = append(args, field.Name+"="+at(i)+":x64")
		}
	}
	for _, p := range params {
		if !p.Vector && p.Index < len(registers) {
			args = append(args, printfmt.SyscallText(p.Name)+"=+0("+at(p.Index)+"):ustring")
			break
		}
	}
	return strings.Join(args, " ")
}
