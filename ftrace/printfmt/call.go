package printfmt

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/cexpr"
)

func (c *compiler) call(x *cexpr.Call) (node, error) {
	switch x.Name {
	case "__get_str", "__get_rel_str", "__get_dynamic_array", "__get_rel_dynamic_array",
		"__get_sockaddr", "__get_rel_sockaddr", "__get_dynamic_array_len", "__get_rel_dynamic_array_len",
		"__get_bitmask", "__get_rel_bitmask", "__get_cpumask", "__get_rel_cpumask":
		return c.dynamic(x)
	case "__print_flags", "__print_flags_u64":
		return c.flags(x)
	case "__print_symbolic", "__print_symbolic_u64":
		return c.symbolic(x)
	case "__print_dynamic_array":
		return c.dynamicArray(x)
	}
	f, ok := functions[x.Name]
	if !ok || len(x.Args) != f.arguments {
		return nil, wrongArguments(x)
	}
	args, err := c.nodes(x.Args...)
	if err != nil {
		return nil, err
	}
	return f.compile(args)
}

func wrongArguments(x *cexpr.Call) error {
	return fmt.Errorf("nothing is known of the function %s with %d arguments", x.Name, len(x.Args))
}

// functions are the other functions that the kernel's print formats call.
var functions = map[string]struct {
	arguments int
	compile   func(args []node) (node, error)
}{
	"__builtin_expect": {2, func(args []node) (node, error) { return args[0], nil }},
	"__print_hex": {2, func(args []node) (node, error) {
		return &hexNode{memory: args[0], length: args[1], separator: ' '}, nil
	}},
	"__print_hex_str": {2, func(args []node) (node, error) {
		return &hexNode{memory: args[0], length: args[1]}, nil
	}},
	"__print_array": {3, func(args []node) (node, error) {
		return &arrayNode{memory: args[0], count: args[1], size: args[2]}, nil
	}},
	"__print_ns_to_secs": {1, func(args []node) (node, error) {
		return &binaryNode{op: "/", a: castTo(cexpr.ULong, args[0]), b: &constant{numberOf(1e9, cexpr.ULong)}}, nil
	}},
	"__print_ns_without_secs": {1, func(args []node) (node, error) {
		rest := &binaryNode{op: "%", a: castTo(cexpr.ULong, args[0]), b: &constant{numberOf(1e9, cexpr.ULong)}}
		return castTo(cexpr.UInt, rest), nil
	}},
	"jiffies_to_msecs":    {1, jiffiesToMsecs},
	"mc_event_error_type": {1, errorType},

	// arm64 uses it when it computes the size of a structure.
	"__builtin_constant_p": {1, notRecorded},
	"__builtin_clzll":      {1, notRecorded},
	"__ilog2_u32":          {1, notRecorded},
	"__ilog2_u64":          {1, notRecorded},
	"__order_base_2":       {1, notRecorded},
}

// notRecorded compiles a call whose value is not in the record.
func notRecorded([]node) (node, error) { return &unknownNode, nil }

// dynamic compiles __get_…(field) and, for probes, __get_str(list[1]).
func (c *compiler) dynamic(x *cexpr.Call) (node, error) {
	if len(x.Args) != 1 {
		return nil, wrongArguments(x)
	}
	name, index := x.Args[0], (*cexpr.Number)(nil)
	if element, ok := name.(*cexpr.Operation); ok && element.Op == "[]" {
		name = element.Args[0]
		if index, ok = element.Args[1].(*cexpr.Number); !ok {
			return nil, wrongArguments(x)
		}
	}
	f, err := c.dynamicField(name)
	if err != nil {
		return nil, err
	}
	data := &fieldNode{field: f, typ: valueType(f), data: true}
	if index != nil {
		if index.Value >= uint64(f.Length) {
			return nil, fmt.Errorf("%s has no string %d", f.Name, index.Value)
		}
		data.index = int(index.Value)
	}
	switch {
	case strings.HasSuffix(x.Name, "_len"):
		return &lengthNode{f}, nil
	case strings.HasSuffix(x.Name, "mask"):
		return &bitmaskNode{data}, nil
	case strings.HasSuffix(x.Name, "sockaddr"):
		data.typ = cexpr.Byte
	}
	return data, nil
}

func (c *compiler) dynamicField(x cexpr.Expr) (*ftrace.Field, error) {
	name, ok := x.(*cexpr.Name)
	if !ok {
		return nil, errors.New("the name of a field expected")
	}
	f, err := c.field(name.Text)
	if err == nil && f.Location == ftrace.Inline {
		err = fmt.Errorf("the field %s is not dynamic", f.Name)
	}
	return f, err
}

// dynamicArray compiles __print_dynamic_array(field, element size).
func (c *compiler) dynamicArray(x *cexpr.Call) (node, error) {
	if len(x.Args) != 2 {
		return nil, wrongArguments(x)
	}
	f, err := c.dynamicField(x.Args[0])
	if err != nil {
		return nil, err
	}
	size, err := c.node(x.Args[1])
	if err != nil {
		return nil, err
	}
	count := &binaryNode{op: "/", a: &lengthNode{f}, b: size}
	return &arrayNode{memory: &fieldNode{field: f, typ: cexpr.Byte, data: true}, count: count, size: size}, nil
}

// jiffiesToMsecs converts ticks of the running kernel. The length of a tick is the resolution
// of the coarse clocks.
func jiffiesToMsecs(args []node) (node, error) {
	var tick unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &tick); err != nil || tick.Nano() < 1000 {
		return nil, fmt.Errorf("the length of a tick is not known: %w", err)
	}
	// Both ends are rounded to microseconds, since the kernel's tick may be a nanosecond off.
	tickUsecs := uint64(tick.Nano()+500) / 1000
	product := &binaryNode{op: "*", a: castTo(cexpr.ULong, args[0]), b: &constant{numberOf(tickUsecs, cexpr.ULong)}}
	msecs := &binaryNode{op: "/", a: product, b: &constant{numberOf(1000, cexpr.ULong)}}
	return castTo(cexpr.UInt, msecs), nil
}

// errorType is the kernel's mc_event_error_type (include/linux/edac.h).
func errorType(args []node) (node, error) {
	names := []tableEntry{{0, "Corrected"}, {1, "Uncorrected"}, {2, "Deferred"}, {3, "Fatal"}}
	return &symbolicNode{arg: args[0], table: names, other: "Info"}, nil
}
