package printfmt

import (
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// AppendLine appends one line of the kernel's trace, without the newline: the task, the CPU,
// its state, the time since boot in seconds, and the event with its text
// (kernel/trace/trace_output.c, trace_print_context). p must be the Printer of format f.
//
// raw is a record as perf delivers it; see appendState for how its state differs from the
// kernel's own records. If tid is not positive, the thread is taken from the record: perf's
// samples of an exiting thread have no tid. comm may be empty if the name is unknown.
func AppendLine(dst []byte, comm []byte, tid int, cpu int, nanoseconds uint64, raw []byte, f *ftrace.Format, p *Printer) []byte {
	dst = appendHead(dst, comm, tid, cpu, nanoseconds, raw, p.isUserProbe(raw))
	if p.kind != printSyscall {
		dst = append(append(dst, f.Name...), ": "...)
	}
	return p.Append(dst, raw)
}

// appendTask prints "%16s-%-7d [%03d] ", with the kernel's placeholders for the idle task and
// for tasks without a known name.
func appendTask(dst, comm []byte, tid, cpu int) []byte {
	switch {
	case tid == 0:
		comm = []byte("<idle>")
	case len(comm) == 0:
		comm = []byte("<...>")
	}
	dst = appendRepeated(dst, ' ', 16-len(comm))
	dst = escape.Append(dst, comm)
	dst = append(dst, '-')
	start := len(dst)
	dst = strconv.AppendInt(dst, int64(tid), 10)
	dst = appendRepeated(dst, ' ', 7-(len(dst)-start))
	dst = appendDecimal(append(dst, " ["...), uint64(max(cpu, 0)), 3, '0')
	return append(dst, "] "...)
}

// appendTime prints seconds and microseconds, rounded, with a space before and a colon after
// them.
func appendTime(dst []byte, nanoseconds uint64) []byte {
	usecs := (nanoseconds + 500) / 1000
	dst = appendDecimal(append(dst, ' '), usecs/1e6, 5, ' ')
	dst = appendDecimal(append(dst, '.'), usecs%1e6, 6, '0')
	return append(dst, ": "...)
}

func appendDecimal(dst []byte, v uint64, width int, padding byte) []byte {
	digits := 1
	for n := v; n >= 10; n /= 10 {
		digits++
	}
	dst = appendRepeated(dst, padding, width-digits)
	return strconv.AppendUint(dst, v, 10)
}

// Bits of common_flags (include/linux/trace_events.h, enum trace_flag_type).
const (
	flagIRQsOff          = 0x01
	flagNeedReschedLazy  = 0x02
	flagNeedResched      = 0x04
	flagHardIRQ          = 0x08
	flagSoftIRQ          = 0x10
	flagPreemptResched   = 0x20
	flagNMI              = 0x40
	flagBHOff            = 0x80
	preemptDepth         = 0x0f // of common_preempt_count
	migrateDisabledShift = 4
)

// appendState prints the five characters for: interrupts off, resched needed, interrupt
// context, preemption depth, migration disabled (trace_print_lat_fmt).
//
// perf disables preemption before it reads the depth, so its records have one more than the
// kernel's own. For a user probe, the kernel's own records have one less still
// (tracing_gen_ctx_dec): the kernel subtracts a level that tracepoints have and user probes do
// not. The subtraction borrows from the higher bits and makes all five characters nonsense:
// DBZff instead of ..... We print the same as trace_pipe. A kernel that does not count the
// depth subtracts nothing.
func appendState(dst, raw []byte, userProbe bool) []byte {
	var flags, count byte
	if len(raw) >= 4 {
		flags, count = raw[2], raw[3]
	}
	if count&preemptDepth != 0 {
		context := uint32(flags)<<16 | uint32(count) - 1
		if userProbe {
			context--
		}
		flags, count = byte(context>>16), byte(context)
	}
	return appendFlags(dst, flags, count)
}

func appendFlags(dst []byte, flags, count byte) []byte {
	return append(dst, irqState(flags), reschedState(flags), contextState(flags),
		digitOrDot(count&preemptDepth), digitOrDot(count>>migrateDisabledShift))
}

func irqState(flags byte) byte {
	switch flags & (flagIRQsOff | flagBHOff) {
	case flagIRQsOff | flagBHOff:
		return 'D'
	case flagIRQsOff:
		return 'd'
	case flagBHOff:
		return 'b'
	}
	return '.'
}

func reschedState(flags byte) byte {
	switch flags & (flagNeedResched | flagPreemptResched | flagNeedReschedLazy) {
	case flagNeedResched | flagPreemptResched | flagNeedReschedLazy:
		return 'B'
	case flagNeedResched | flagPreemptResched:
		return 'N'
	case flagNeedReschedLazy | flagPreemptResched:
		return 'L'
	case flagNeedReschedLazy | flagNeedResched:
		return 'b'
	case flagNeedResched:
		return 'n'
	case flagNeedReschedLazy:
		return 'l'
	case flagPreemptResched:
		return 'p'
	}
	return '.'
}

func contextState(flags byte) byte {
	nmi, hard, soft := flags&flagNMI != 0, flags&flagHardIRQ != 0, flags&flagSoftIRQ != 0
	switch {
	case nmi && hard:
		return 'Z'
	case nmi:
		return 'z'
	case hard && soft:
		return 'H'
	case hard:
		return 'h'
	case soft:
		return 's'
	}
	return '.'
}

func digitOrDot(n byte) byte {
	if n == 0 {
		return '.'
	}
	return hexDigits[n&15]
}
