package printfmt

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// appendIP prints I4, I6, I6c and IS. The forms with a lower-case i have leading zeros and no
// colons.
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
	// As in RFC 5952, but the kernel also writes ISATAP addresses (RFC 5214) with an IPv4
	// address at the end.
	if a[8]&^2 == 0 && a[9] == 0 && a[10] == 0x5e && a[11] == 0xfe {
		return appendISATAP(dst, a)
	}
	return netip.AddrFrom16(a).AppendTo(dst)
}

// appendISATAP writes the first six groups compressed and the last two as IPv4.
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

// appendSockaddr prints a struct sockaddr_in or sockaddr_in6. The option p adds the port; f and
// s add an IPv6 address's flow and scope.
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
