package functrace

import (
	"os"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// cpuDigits returns the width of CPU numbers in the kernel's output: that of the highest number
// that this host may ever have.
func cpuDigits() int {
	text, _ := os.ReadFile("/sys/devices/system/cpu/possible") // 0-3,8
	last := strings.TrimSpace(string(text))
	last = last[strings.LastIndexAny(last, "-,")+1:]
	return max(1, len(last))
}

// appendColumns appends the columns before the duration.
func (g *graph) appendColumns(dst []byte, e *ftrace.Entry) []byte {
	if g.options.Time {
		usecs := e.Time / 1000
		dst = appendPadded(dst, strconv.FormatUint(usecs/1e6, 10), 5, ' ')
		dst = append(dst, '.')
		dst = appendPadded(dst, strconv.FormatUint(usecs%1e6, 10), 6, '0')
		dst = append(dst, " |  "...)
	}
	dst = g.appendCPU(dst, e.CPU)
	if g.options.Task {
		dst = g.appendTask(dst, e.PID())
		dst = append(dst, " | "...)
	}
	return dst
}

func (g *graph) appendCPU(dst []byte, cpu int) []byte {
	dst = append(dst, ' ')
	dst = appendPadded(dst, strconv.Itoa(cpu), g.cpuDigits, ' ')
	return append(dst, ") "...)
}

// taskWidth is the kernel's TRACE_GRAPH_PROCINFO_LENGTH.
const taskWidth = 14

// appendTask appends the first seven bytes of the thread's name and its TID, centered.
func (g *graph) appendTask(dst []byte, tid int) []byte {
	name := g.names.of(tid)
	switch {
	case tid == 0:
		name = []byte("<idle>")
	case len(name) == 0:
		name = []byte("<...>")
	}
	text := escape.Text(string(name[:min(len(name), 7)])) + "-" + strconv.Itoa(tid)
	spaces := max(taskWidth-len(text), 0)
	dst = appendPadded(dst, "", spaces/2, ' ')
	dst = append(dst, text...)
	return appendPadded(dst, "", spaces-spaces/2, ' ')
}

// appendSwitch appends the lines about a switch of the CPU to another thread, if there was one.
func (g *graph) appendSwitch(dst []byte, cpu *graphCPU, e *ftrace.Entry) []byte {
	before, now := cpu.pid, e.PID()
	cpu.pid = now
	if before == now || before < 0 || !g.options.Switches {
		return dst
	}
	const line = " ------------------------------------------\n"
	dst = append(dst, line...)
	dst = g.appendCPU(dst, e.CPU)
	dst = g.appendTask(dst, before)
	dst = append(dst, " => "...)
	dst = g.appendTask(dst, now)
	dst = append(dst, '\n')
	dst = append(dst, line...)
	return append(dst, '\n')
}

// appendInterrupt appends the arrow at the start or end of an interrupt, if function is an
// interrupt entry.
func (g *graph) appendInterrupt(dst []byte, e *ftrace.Entry, function uint64, arrow string) []byte {
	if function < g.irqStart || function >= g.irqEnd {
		return dst
	}
	dst = g.appendColumns(dst, e)
	if g.options.Duration {
		dst = append(dst, "  "...)
	}
	dst = append(dst, arrow...)
	if g.options.Duration {
		dst = append(dst, " |"...)
	}
	return append(dst, '\n')
}

// marks are the signs before long durations (trace_find_mark).
var marks = []struct {
	nanoseconds uint64
	mark        byte
}{{1e9, '$'}, {1e8, '@'}, {1e7, '*'}, {1e6, '#'}, {1e5, '!'}, {1e4, '+'}}

// appendDuration appends a duration in microseconds. It has as many decimal places as fit into
// seven characters.
func (g *graph) appendDuration(dst []byte, nanoseconds uint64) []byte {
	if !g.options.Duration {
		return dst
	}
	mark := byte(' ')
	for _, m := range marks {
		if nanoseconds > m.nanoseconds {
			mark = m.mark
			break
		}
	}
	text := strconv.FormatUint(nanoseconds/1000, 10)
	if n := len(text); n < 7 {
		rest := strconv.FormatUint(1000+nanoseconds%1000, 10)[1:]
		text += "." + rest[:min(len(rest), 7-n)]
	}
	dst = append(dst, mark, ' ')
	dst = append(dst, text...)
	dst = append(dst, " us "...)
	dst = appendPadded(dst, "", 8-len(text), ' ')
	return append(dst, "|  "...)
}

// appendIndent appends the spaces before a function.
func appendIndent(dst []byte, depth int) []byte { return appendPadded(dst, "", 2*depth, ' ') }

// appendPadded appends text, padded on the left to width.
func appendPadded(dst []byte, text string, width int, padding byte) []byte {
	for n := width - len(text); n > 0; n-- {
		dst = append(dst, padding)
	}
	return append(dst, text...)
}
