package printfmt

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// probe sets up the printer if the event is a probe. The kernel does not use the print formats
// of probes itself. It prints the place as 0xADDRESS or as a symbol, and (fault) for a string
// that it could not read (kernel/trace/trace_uprobe.c, print_uprobe_event; trace_kprobe.c;
// trace_probe.c).
func (p *Printer) probe() {
	places := 1
	place, ret := p.format.Field(ftrace.FieldProbeIP), (*ftrace.Field)(nil)
	if place == nil {
		places, place, ret = 2, p.format.Field(ftrace.FieldProbeFunc), p.format.Field(ftrace.FieldProbeRetIP)
		if place == nil || ret == nil {
			return
		}
	}
	if len(p.pieces) < places || p.pieces[0].literal != "(" {
		return
	}
	p.kind, p.place, p.retPlace = printProbe, place, ret
	p.pieces = p.pieces[places:]
	for i := range p.pieces {
		if i == len(p.pieces)-1 {
			break
		}
		next := &p.pieces[i+1]
		before, quoted := strings.CutSuffix(p.pieces[i].literal, `"`)
		after, closed := strings.CutPrefix(next.literal, `"`)
		if p.pieces[i].verb == 's' && quoted && closed {
			p.pieces[i].literal, next.literal, p.pieces[i].probeString = before, after, true
			if n, ok := p.pieces[i].arg.(*fieldNode); ok {
				p.pieces[i].late = p.format.Field(ProbeTextLate(n.field.Name))
			}
		}
	}
}

// isUserProbe reports whether the record is a user probe's. Kernel probes have the same fields,
// but addresses in the other half of the address space.
func (p *Printer) isUserProbe(raw []byte) bool {
	if p.kind != printProbe {
		return false
	}
	addr, ok := p.place.Uint(raw)
	return ok && int64(addr) >= 0
}

// appendProbe prints the place of a probe, without the closing parenthesis, which starts the
// first piece.
func (p *Printer) appendProbe(dst, raw []byte) []byte {
	dst = append(dst, '(')
	if p.retPlace == nil {
		return p.appendPlace(dst, raw, p.place, true)
	}
	dst = p.appendPlace(dst, raw, p.retPlace, true)
	dst = append(dst, " <- "...)
	return p.appendPlace(dst, raw, p.place, false)
}

// appendPlace prints an address. If it is in the kernel's half, it prints the symbol.
func (p *Printer) appendPlace(dst, raw []byte, field *ftrace.Field, offset bool) []byte {
	addr, ok := field.Uint(raw)
	switch {
	case !ok:
		return append(dst, unknownText...)
	case int64(addr) < 0:
		return p.appendSymbol(dst, addr, offset)
	}
	return strconv.AppendUint(append(dst, "0x"...), addr, 16)
}

// ProbeTextLate returns the name of a one-byte field that a caller may add; no kernel has it.
// If it is not zero, the text of a probe's argument was read later than the hit, and a tilde is
// printed before the text.
func ProbeTextLate(argument string) string { return "__" + argument + "_late" }

// appendProbeString prints a string of a probe, fetched by the kernel or read later.
func (p *Printer) appendProbeString(dst, raw []byte, piece *piece) []byte {
	v := piece.arg.eval(raw)
	switch {
	case v.kind != memory:
		return append(dst, unknownText...)
	case len(v.memory) == 0:
		return append(dst, "(fault)"...)
	}
	if piece.late != nil {
		if late, _ := piece.late.Uint(raw); late != 0 {
			dst = append(dst, '~')
		}
	}
	dst = append(dst, '"')
	dst = escape.Append(dst, untilZero(v.memory))
	return append(dst, '"')
}
