package hotspot

import (
	"bytes"
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// view reads a process's memory. A failed read returns zero and sets bad.
type view struct {
	mem interp.Memory
	bad bool
	b   [8]byte
}

func (v *view) read(addr uint64, n int) []byte {
	clear(v.b[:])
	if !v.mem.Read(addr, v.b[:n]) {
		v.bad = true
		clear(v.b[:])
	}
	return v.b[:]
}

func (v *view) u64(addr uint64) uint64 { return binary.LittleEndian.Uint64(v.read(addr, 8)) }
func (v *view) u32(addr uint64) uint32 { return binary.LittleEndian.Uint32(v.read(addr, 4)) }
func (v *view) u16(addr uint64) uint16 { return binary.LittleEndian.Uint16(v.read(addr, 2)) }
func (v *view) u8(addr uint64) uint8   { return v.read(addr, 1)[0] }

// text reads a NUL-terminated string shorter than n bytes.
func (v *view) text(addr uint64, n int) string {
	b := make([]byte, 0, 64)
	for len(b) < n {
		// An aligned piece of 64 bytes is readable completely or not at all.
		var piece [64]byte
		part := piece[:64-addr%64]
		if !v.mem.Read(addr, part) {
			v.bad = true
			return ""
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(b, part[:end]...))
		}
		b = append(b, part...)
		addr += uint64(len(part))
	}
	v.bad = true
	return ""
}

// pages caches whole pages, for tables that do not change. After maxPages pages its reads fail.
type pages struct {
	mem  interp.Memory
	read map[uint64][]byte
}

const (
	pageSize = 4096
	maxPages = 2048
)

func (p *pages) Read(addr uint64, b []byte) bool {
	for len(b) > 0 {
		at := addr / pageSize * pageSize
		page, ok := p.read[at]
		if !ok {
			if len(p.read) == maxPages {
				return false
			}
			page = make([]byte, pageSize)
			if !p.mem.Read(at, page) {
				page = nil
			}
			p.read[at] = page
		}
		if page == nil {
			return false
		}
		n := copy(b, page[addr-at:])
		addr, b = addr+uint64(n), b[n:]
	}
	return true
}
