package printfmt

import (
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/escape"
)

// AppendLine appends one line of the kernel's trace, without the newline, for a
// record of format f that p prints: the task, the CPU, its state, the time since
// boot in seconds, the event and what it says
// (kernel/trace/trace_output.c, trace_print_context).
//
// raw is a record as perf delivers it; see appendState for where the kernel's own
// tracers record another state than perf does. The thread is named by the record
// itself where tid is not positive, as it is for perf's samples of a thread that
// is about to end. comm may be empty if nobody knows the name.
func AppendLine(dst []byte, comm []byte, tid int, cpu int, nanoseconds uint64, raw []byte, f *ftrace.Format, p *Printer) []byte {
	dst = appendHead(dst, comm, tid, cpu, nanoseconds, raw, p.isUserProbe(raw))
	if p.kind != printSyscall {
		dst = append(append(dst, f.Name...), ": "...)
	}
	return p.Append(dst, raw)
}

// appendTask prints "%16s-%-7d [%03d] ", with the kernel's names for the idle task and
// for tasks it knows no name of.
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

// appendTime prints seconds and microseconds, rounded, between a blank and a colon.
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

// appendState prints the five characters of irqs off, resched wanted, interrupt
// context, preemption depth, migration disabled (trace_print_lat_fmt).
//
// Perf disables preemption before it looks at the depth, so that its records say
// one more than the kernel's own. On a user probe the kernel's own say yet one
// less (tracing_gen_ctx_dec): it takes off a level that tracepoints have and
// user probes have not, which borrows from the bits above and makes all five
// characters nonsense, DBZff where ..... is meant. We say what trace_pipe says.
// A kernel that does not count the depth takes nothing off.
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
