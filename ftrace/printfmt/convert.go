package printfmt

import (
	"github.com/ringtap/ringtap/internal/text/cexpr"
	"github.com/ringtap/ringtap/internal/text/escape"
)

func (p *Printer) appendConversion(dst, raw []byte, piece *piece) []byte {
	c := piece.conversion
	if piece.widthArg != nil {
		c.setWidth(piece.widthArg.eval(raw))
	}
	if piece.precisionArg != nil {
		c.setPrecision(piece.precisionArg.eval(raw))
	}
	if piece.probeString {
		return p.appendProbeString(dst, raw, piece)
	}
	if c.verb == 's' {
		return p.appendString(dst, raw, &c, piece.arg)
	}
	v := piece.arg.eval(raw)
	switch {
	case v.kind == unknown:
		start := len(dst)
		return c.appendPadded(append(dst, unknownText...), start, len(unknownText))
	case c.verb == 'p':
		return p.appendPointer(dst, &c, v)
	case v.kind == memory:
		// An address in the kernel's ring buffer.
		return append(dst, unknownText...)
	case c.verb == 'c':
		start := len(dst)
		character := [1]byte{byte(v.number)}
		dst = escape.Append(dst, character[:])
		return c.appendPadded(dst, start, 1)
	case piece.syscallArg && v.number < 10:
		c.prefix = false
	}
	return c.appendInteger(dst, v.number)
}

// setWidth sets a width from an argument; a negative one pads on the right.
func (c *conversion) setWidth(v value) {
	if v.kind != number {
		return
	}
	n := int64(int32(v.number))
	if n < 0 {
		c.left, n = true, -n
	}
	c.width = int(min(n, maxWidth))
}

func (c *conversion) setPrecision(v value) {
	if v.kind == number {
		c.precision = int(min(max(int64(int32(v.number)), 0), maxRecord))
	}
}

func (p *Printer) appendString(dst, raw []byte, c *conversion, arg node) []byte {
	for {
		condition, ok := arg.(*conditionNode)
		if !ok {
			break
		}
		arg = condition.choose(raw)
	}
	start := len(dst)
	if t, ok := arg.(texter); ok {
		dst = t.appendText(dst, raw)
		if c.precision >= 0 && len(dst)-start > c.precision {
			dst = dst[:start+c.precision]
		}
		return c.appendPadded(dst, start, len(dst)-start)
	}
	v := arg.eval(raw)
	switch v.kind {
	case memory:
		text := v.memory
		if c.precision >= 0 && len(text) > c.precision {
			text = text[:c.precision]
		}
		text = untilZero(text)
		dst = escape.Append(dst, text)
		return c.appendPadded(dst, start, len(text))
	case number:
		dst = p.appendKernelString(dst, v.number)
	default:
		dst = append(dst, unknownText...)
	}
	return c.appendPadded(dst, start, len(dst)-start)
}

// appendKernelString prints the text at a kernel address (lib/vsprintf.c, check_pointer_msg).
func (p *Printer) appendKernelString(dst []byte, addr uint64) []byte {
	const page, errors = 4096, -4095
	switch {
	case addr == 0:
		return append(dst, "(null)"...)
	case addr < page || int64(addr) >= errors && int64(addr) < 0:
		return append(dst, "(efault)"...)
	}
	if p.opts.KernelString != nil {
		if text, ok := p.opts.KernelString(addr); ok {
			return escape.Append(dst, []byte(text))
		}
	}
	address := conversion{width: -1, precision: -1, prefix: true, base: 16, typ: cexpr.ULong}
	return address.appendInteger(dst, addr)
}
