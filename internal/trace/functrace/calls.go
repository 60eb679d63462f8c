package functrace

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
)

// calls prints records of the function tracer as trace_pipe does (kernel/trace/trace_output.c,
// trace_fn_trace and trace_stack_print).
type calls struct {
	names     *names
	functions *functions
	columns   printfmt.Columns
	stacks    bool

	call, stack             int // IDs of the records
	function, parent        *ftrace.Field
	stackSize, stackCallers *ftrace.Field
}

func newCalls(top *ftrace.FS, names *names, functions *functions, stacks bool) (*calls, error) {
	c := &calls{names: names, functions: functions, stacks: stacks}
	call, err := top.Format("ftrace", "function")
	if err != nil {
		return nil, err
	}
	stack, err := top.Format("ftrace", "kernel_stack")
	if err != nil {
		return nil, err
	}
	c.call, c.stack = call.ID, stack.ID
	c.function, c.parent = call.Field("ip"), call.Field("parent_ip")
	c.stackSize, c.stackCallers = stack.Field("size"), stack.Field("caller")
	if c.function == nil || c.parent == nil || c.stackSize == nil || c.stackCallers == nil {
		return nil, fmt.Errorf("this kernel's records of calls are unknown to ringtap: %+v, %+v", call.Fields, stack.Fields)
	}
	return c, nil
}

func (c *calls) header(text string) string {
	c.columns = printfmt.ParseColumns(text)
	return text
}

// append appends the line of a record. shown reports whether it is a call.
func (c *calls) append(dst []byte, e, _ *ftrace.Entry) (line []byte, shown bool) {
	switch t := e.Type(); {
	case t == c.call:
		function, _ := c.function.Uint(e.Raw)
		parent, _ := c.parent.Uint(e.Raw)
		dst = printfmt.AppendTraceHead(dst, c.names.of(e.PID()), e, c.columns)
		dst = append(dst, c.functions.name(function)...)
		dst = append(dst, " <-"...)
		dst = append(dst, c.functions.name(parent)...)
		return append(dst, '\n'), true
	case t == c.stack && c.stacks:
		dst = printfmt.AppendTraceHead(dst, c.names.of(e.PID()), e, c.columns)
		return c.appendStack(append(dst, "<stack trace>\n"...), e.Raw), false
	}
	return dst, false
}

// appendStack appends the frames of a stack. The field with the frames is longer than its format
// says.
func (c *calls) appendStack(dst, raw []byte) []byte {
	depth, _ := c.stackSize.Uint(raw)
	for at := c.stackCallers.Offset; depth > 0 && at+8 <= len(raw); at, depth = at+8, depth-1 {
		addr := binary.LittleEndian.Uint64(raw[at:])
		if addr == ^uint64(0) {
			break
		}
		dst = append(dst, " => "...)
		dst = append(dst, c.functions.name(addr)...)
		dst = append(dst, '\n')
	}
	return dst
}

// appendLost appends the kernel's line about lost records.
func appendLost(dst []byte, e *ftrace.Entry) []byte {
	dst = append(dst, "CPU:"...)
	dst = strconv.AppendInt(dst, int64(e.CPU), 10)
	if e.Lost == ftrace.LostSome {
		return append(dst, " [LOST EVENTS]\n"...)
	}
	dst = append(dst, " [LOST "...)
	dst = strconv.AppendUint(dst, e.Lost, 10)
	return append(dst, " EVENTS]\n"...)
}
