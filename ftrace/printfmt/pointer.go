package printfmt

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/cexpr"
)

// appendPointer prints %p and its extensions
// (Documentation/core-api/printk-formats.rst). What lies behind a pointer is
// printed only where it is in the record: addresses of other kernel memory are
// printed themselves. The kernel prints plain %p as a hash with a secret of the
// running system, unless the trace option hash-ptr is off, which is how it is
// printed here.
func (p *Printer) appendPointer(dst []byte, c *conversion, v value) []byte {
	if v.kind == memory {
		start := len(dst)
		dst, ok := appendMemory(dst, c, v.memory)
		if !ok {
			dst = append(dst[:start], unknownText...)
		}
		if strings.HasPrefix(c.extension, "h") || strings.HasPrefix(c.extension, "b") {
			return dst // the width is a length
		}
		return c.appendPadded(dst, start, len(dst)-start)
	}
	if c.extension != "" && strings.IndexByte("sSfFB", c.extension[0]) >= 0 {
		start := len(dst)
		dst = p.appendSymbol(dst, v.number, c.extension[0] != 's' && c.extension[0] != 'f')
		return c.appendPadded(dst, start, len(dst)-start)
	}
	plain := conversion{width: c.width, precision: -1, left: c.left, zero: c.zero, base: 16, typ: cexpr.ULong}
	if plain.width < 0 {
		plain.width, plain.zero = 16, true
	}
	return plain.appendInteger(dst, v.number)
}

// appendSymbol prints name+0x1/0x20 [module], without the distance if offset
// is false, or the address where there is no name
// (kernel/kallsyms.c, __sprint_symbol).
func (p *Printer) appendSymbol(dst []byte, addr uint64, offset bool) []byte {
	if p.opts.KernelSymbol != nil {
		if name, at, size, module, ok := p.opts.KernelSymbol(addr); ok {
			dst = append(dst, name...)
			if offset {
				dst = strconv.AppendUint(append(dst, "+0x"...), at, 16)
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

// appendMemory prints the bytes that a pointer into the record points at; false
// if they are too few or nothing is known of the extension.
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

// appendUUID prints a UUID, for the extensions UL and Ul a GUID, whose first
// three parts are little-endian; B and L in upper case.
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

// appendIP prints I4, I6, I6c, IS and their forms with small i, which have
// zeros in front and no colons.
func appendIP(dst []byte, ext string, b []byte) ([]byte, bool) {
	if len(ext) < 2 {
		return dst, false
	}
	options := ext[2:]
	switch ext[1] {
	case '4':
		if len(b) < 4 {
			return dst, false
		}
		return appendIPv4(dst, ext[0] == 'i', options, [4]byte(b)), true
	case '6':
		if len(b) < 16 {
			return dst, false
		}
		return appendIPv6(dst, ext[0] == 'i', strings.HasPrefix(options, "c"), [16]byte(b)), true
	case 'S':
		return appendSockaddr(dst, ext[0] == 'i', options, b)
	}
	return dst, false
}

func appendIPv4(dst []byte, zeros bool, options string, a [4]byte) []byte {
	if strings.ContainsAny(options, "hl") {
		a[0], a[1], a[2], a[3] = a[3], a[2], a[1], a[0]
	}
	for i, n := range a {
		if i > 0 {
			dst = append(dst, '.')
		}
		if zeros && n < 100 {
			dst = append(dst, '0')
		}
		if zeros && n < 10 {
			dst = append(dst, '0')
		}
		dst = strconv.AppendUint(dst, uint64(n), 10)
	}
	return dst
}

func appendIPv6(dst []byte, plain, compressed bool, a [16]byte) []byte {
	switch {
	case plain:
		return appendHex(dst, a[:], 0)
	case !compressed:
		for i := 0; i < 16; i += 2 {
			if i > 0 {
				dst = append(dst, ':')
			}
			dst = appendHex(dst, a[i:i+2], 0)
		}
		return dst
	}
	// As RFC 5952 says, except that the kernel writes ISATAP addresses
	// (RFC 5214) with an IPv4 address at the end as well.
	if a[8]&^2 == 0 && a[9] == 0 && a[10] == 0x5e && a[11] == 0xfe {
		return appendISATAP(dst, a)
	}
	return netip.AddrFrom16(a).AppendTo(dst)
}

// appendISATAP writes the first 6 groups compressed and the last two as IPv4.
func appendISATAP(dst []byte, a [16]byte) []byte {
	longest, at := 1, -1
	for i := 0; i < 6; i++ {
		n := 0
		for i+n < 6 && a[2*(i+n)] == 0 && a[2*(i+n)+1] == 0 {
			n++
		}
		if n > longest {
			longest, at = n, i
		}
	}
	for i := 0; i < 6; i++ {
		if i == at {
			dst = append(dst, "::"...)
			i += longest - 1
			continue
		}
		dst = strconv.AppendUint(dst, uint64(a[2*i])<<8|uint64(a[2*i+1]), 16)
		if i+1 != at {
			dst = append(dst, ':')
		}
	}
	return appendIPv4(dst, false, "", [4]byte(a[12:]))
}

// appendSockaddr prints a struct sockaddr_in or sockaddr_in6: with p its port,
// with f and s an IPv6 address's flow and scope.
func appendSockaddr(dst []byte, plain bool, options string, b []byte) ([]byte, bool) {
	family, ok := cexpr.Load(b, 2)
	switch {
	case !ok:
		return dst, false
	case family == 2 && len(b) >= 8:
		dst = appendIPv4(dst, plain, options, [4]byte(b[4:]))
		if strings.Contains(options, "p") {
			dst = strconv.AppendUint(append(dst, ':'), uint64(b[2])<<8|uint64(b[3]), 10)
		}
		return dst, true
	case family == 10 && len(b) >= 28:
		return appendSockaddr6(dst, plain, options, b), true
	}
	return append(dst, "(einval)"...), true
}

func appendSockaddr6(dst []byte, plain bool, options string, b []byte) []byte {
	brackets := strings.ContainsAny(options, "pfs")
	if brackets {
		dst = append(dst, '[')
	}
	dst = appendIPv6(dst, plain, strings.Contains(options, "c"), [16]byte(b[8:]))
	if brackets {
		dst = append(dst, ']')
	}
	if strings.Contains(options, "p") {
		dst = strconv.AppendUint(append(dst, ':'), uint64(b[2])<<8|uint64(b[3]), 10)
	}
	if strings.Contains(options, "f") {
		flow := uint64(b[5]&0x0f)<<16 | uint64(b[6])<<8 | uint64(b[7])
		dst = strconv.AppendUint(append(dst, '/'), flow, 10)
	}
	if strings.Contains(options, "s") {
		scope, _ := cexpr.Load(b[24:], 4)
		dst = strconv.AppendUint(append(dst, '%'), scope, 10)
	}
	return dst
}
