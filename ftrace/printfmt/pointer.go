package printfmt

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// appendPointer prints %p and its extensions (Documentation/core-api/printk-formats.rst). The
// pointed-to data is printed only if it is in the record; for other kernel memory the address
// is printed. Plain %p prints the address, as the kernel does if the trace option hash-ptr is
// off; otherwise the kernel prints a hash with a secret of the running system.
func (p *Printer) appendPointer(dst []byte, c *conversion, v value) []byte {
	if v.kind == memory {
		start := len(dst)
		dst, ok := appendMemory(dst, c, v.memory)
		if !ok {
			dst = append(dst[:start], unknownText...)
		}
		if strings.HasPrefix(c.extension, "h") || strings.HasPrefix(c.extension, "b") {
			return dst // the width is a length, not padding
		}
		return c.appendPadded(dst, start, len(dst)-start)
	}
	if c.extension != "" && strings.IndexByte("sSfFB", c.extension[0]) >= 0 {
		start := len(dst)
		dst = p.appendSymbol(dst, v.number, c.extension[0] != 's' && c.extension[0] != 'f')
		return c.appendPadded(dst, start, len(dst)-start)
	}
	if p.opts.LibTraceEvent {
		start := len(dst)
		if v.number == 0 {
			dst = append(dst, "(nil)"...)
		} else {
			dst = strconv.AppendUint(append(dst, "0x"...), v.number, 16)
		}
		return c.appendPadded(dst, start, len(dst)-start)
	}
	plain := conversion{width: c.width, precision: -1, left: c.left, zero: c.zero, base: 16, typ: cexpr.ULong}
	if plain.width < 0 {
		plain.width, plain.zero = 16, true
	}
	return plain.appendInteger(dst, v.number)
}

// appendSymbol prints name+0x1/0x20 [module], or the address if there is no name
// (kernel/kallsyms.c, __sprint_symbol). If offset is false, it omits the offset and size.
func (p *Printer) appendSymbol(dst []byte, addr uint64, offset bool) []byte {
	if p.opts.KernelSymbol != nil {
		if name, at, size, module, ok := p.opts.KernelSymbol(addr); ok {
			dst = append(dst, name...)
			if offset {
				dst = strconv.AppendUint(append(dst, "+0x"...), at, 16)
				if p.opts.LibTraceEvent {
					return dst
				}
				dst = strconv.AppendUint(append(dst, "/0x"...), size, 16)
			}
			if module != "" {
				dst = append(append(append(dst, " ["...), module...), ']')
			}
			return dst
		}
	}
	return strconv.AppendUint(append(dst, "0x"...), addr, 16)
}

// appendMemory prints the bytes that a pointer into the record points at. It returns false if
// there are too few bytes, or if the extension is unknown.
func appendMemory(dst []byte, c *conversion, b []byte) ([]byte, bool) {
	ext := c.extension
	switch {
	case strings.HasPrefix(ext, "I") || strings.HasPrefix(ext, "i"):
		return appendIP(dst, ext, b)
	case strings.HasPrefix(ext, "M") || strings.HasPrefix(ext, "m"):
		return appendMAC(dst, ext, b)
	case strings.HasPrefix(ext, "U"):
		return appendUUID(dst, ext, b)
	case strings.HasPrefix(ext, "h"):
		return appendHex(dst, b[:min(len(b), max(c.width, 1), 64)], hexSeparator(ext)), true
	case strings.HasPrefix(ext, "bl"):
		return appendBitList(dst, b, max(c.width, 0)), true
	case strings.HasPrefix(ext, "b"):
		return appendBitmap(dst, b, max(c.width, 0)), true
	}
	return dst, false
}

func hexSeparator(ext string) byte {
	switch ext {
	case "hC":
		return ':'
	case "hD":
		return '-'
	case "hN":
		return 0
	}
	return ' '
}

func appendMAC(dst []byte, ext string, b []byte) ([]byte, bool) {
	if len(b) < 6 {
		return dst, false
	}
	mac := [6]byte(b)
	if strings.HasSuffix(ext, "R") {
		for i := range 3 {
			mac[i], mac[5-i] = mac[5-i], mac[i]
		}
	}
	separator := byte(':')
	switch {
	case ext[0] == 'm':
		separator = 0
	case ext == "MF":
		separator = '-'
	}
	return appendHex(dst, mac[:], separator), true
}

// appendUUID prints a UUID or, for the extensions UL and Ul, a GUID, whose first three parts
// are little-endian. B and L print upper case.
func appendUUID(dst []byte, ext string, b []byte) ([]byte, bool) {
	if len(b) < 16 {
		return dst, false
	}
	u := [16]byte(b)
	if strings.HasPrefix(ext, "UL") || strings.HasPrefix(ext, "Ul") {
		u = [16]byte{u[3], u[2], u[1], u[0], u[5], u[4], u[7], u[6], 8: u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]}
	}
	start, from := len(dst), 0
	for _, to := range [...]int{4, 6, 8, 10, 16} {
		if from > 0 {
			dst = append(dst, '-')
		}
		dst = appendHex(dst, u[from:to], 0)
		from = to
	}
	if strings.HasPrefix(ext, "UL") || strings.HasPrefix(ext, "UB") {
		for i := start; i < len(dst); i++ {
			if 'a' <= dst[i] && dst[i] <= 'f' {
				dst[i] -= 'a' - 'A'
			}
		}
	}
	return dst, true
}
