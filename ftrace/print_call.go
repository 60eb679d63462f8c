package ftrace

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// call reads the arguments of a function, whose parenthesis is read already.
func (c *compiler) call(name string) (node, error) {
	switch name {
	case "__get_str", "__get_rel_str", "__get_dynamic_array", "__get_rel_dynamic_array",
		"__get_sockaddr", "__get_rel_sockaddr", "__get_dynamic_array_len", "__get_rel_dynamic_array_len",
		"__get_bitmask", "__get_rel_bitmask", "__get_cpumask", "__get_rel_cpumask":
		return c.dynamic(name)
	case "__print_flags", "__print_flags_u64":
		return c.flags()
	case "__print_symbolic", "__print_symbolic_u64":
		return c.symbolic()
	case "__print_dynamic_array":
		return c.dynamicArray()
	}
	args, err := c.arguments()
	if err != nil {
		return nil, err
	}
	f, ok := functions[name]
	if !ok || len(args) != f.arguments {
		return nil, fmt.Errorf("nothing is known of the function %s with %d arguments", name, len(args))
	}
	return f.compile(args)
}

// functions are the rest of what the kernel's print formats call.
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
		return &binaryNode{op: "/", a: castTo(typeULong, args[0]), b: &constant{numberOf(1e9, typeULong)}}, nil
	}},
	"__print_ns_without_secs": {1, func(args []node) (node, error) {
		rest := &binaryNode{op: "%", a: castTo(typeULong, args[0]), b: &constant{numberOf(1e9, typeULong)}}
		return castTo(ctype{size: 4}, rest), nil
	}},
	"jiffies_to_msecs":    {1, jiffiesToMsecs},
	"mc_event_error_type": {1, errorType},

	// What arm64 makes of the size of a structure.
	"__builtin_constant_p": {1, notRecorded},
	"__builtin_clzll":      {1, notRecorded},
	"__ilog2_u32":          {1, notRecorded},
	"__ilog2_u64":          {1, notRecorded},
	"__order_base_2":       {1, notRecorded},
}

// notRecorded is the value of a function that is called with what is in no record.
func notRecorded([]node) (node, error) { return &unknownNode, nil }

// arguments reads expressions up to the closing parenthesis.
func (c *compiler) arguments() (args []node, err error) {
	for !c.accept(")") {
		if len(args) > 0 {
			if err := c.expect(","); err != nil {
				return nil, err
			}
		}
		arg, err := c.expression()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

// dynamic reads the name of the field that __get_… means.
func (c *compiler) dynamic(function string) (node, error) {
	f, err := c.fieldArgument()
	if err != nil {
		return nil, err
	}
	data := &fieldNode{field: f, typ: valueType(f), data: true}
	if c.accept("[") { // __get_str(list[1]) of probes
		at := c.next()
		if at.kind != tokenNumber || at.number >= uint64(f.Length) {
			return nil, fmt.Errorf("%s has no string %q", f.Name, at.text)
		}
		data.index = int(at.number)
		if err := c.expect("]"); err != nil {
			return nil, err
		}
	}
	if err := c.expect(")"); err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(function, "_len"):
		return &lengthNode{f}, nil
	case strings.HasSuffix(function, "mask"):
		return &bitmaskNode{data}, nil
	case strings.HasSuffix(function, "sockaddr"):
		data.typ = typeByte
	}
	return data, nil
}

func (c *compiler) fieldArgument() (*Field, error) {
	name := c.next()
	if name.kind != tokenName {
		return nil, fmt.Errorf("the name of a field expected, not %q", name.text)
	}
	f, err := c.field(name.text)
	if err == nil && f.Location == Inline {
		err = fmt.Errorf("the field %s is not dynamic", f.Name)
	}
	return f, err
}

// dynamicArray reads __print_dynamic_array(field, size of an element).
func (c *compiler) dynamicArray() (node, error) {
	f, err := c.fieldArgument()
	if err != nil {
		return nil, err
	}
	if err := c.expect(","); err != nil {
		return nil, err
	}
	size, err := c.expression()
	if err != nil {
		return nil, err
	}
	count := &binaryNode{op: "/", a: &lengthNode{f}, b: size}
	return &arrayNode{memory: &fieldNode{field: f, typ: typeByte, data: true}, count: count, size: size}, c.expect(")")
}

// jiffiesToMsecs converts ticks of the running kernel's clock, whose length the
// resolution of the coarse clocks tells.
func jiffiesToMsecs(args []node) (node, error) {
	var tick unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &tick); err != nil || tick.Nano() < 1000 {
		return nil, fmt.Errorf("the length of a tick is not known: %w", err)
	}
	// Both ends are rounded to microseconds, since the kernel's tick may be a
	// nanosecond off.
	tickUsecs := uint64(tick.Nano()+500) / 1000
	product := &binaryNode{op: "*", a: castTo(typeULong, args[0]), b: &constant{numberOf(tickUsecs, typeULong)}}
	msecs := &binaryNode{op: "/", a: product, b: &constant{numberOf(1000, typeULong)}}
	return castTo(ctype{size: 4}, msecs), nil
}

// errorType is the kernel's mc_event_error_type (include/linux/edac.h).
func errorType(args []node) (node, error) {
	names := []tableEntry{{0, "Corrected"}, {1, "Uncorrected"}, {2, "Deferred"}, {3, "Fatal"}}
	return &symbolicNode{arg: args[0], table: names, other: "Info"}, nil
}
