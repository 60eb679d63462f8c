package live

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// argCache keeps memory that was copied into the records of hits. Later hits look it up by address. If there is
// too much, it drops the older half. It forgets a process's memory when the process's EXIT or exec record has its
// turn. athit.Reader sees these records earlier, but hits from before the exec may still look up the memory.
type argCache struct {
	recent, older map[address]memory
	bytes         int               // of recent
	programs      map[uint32]uint64 // by PID of a process with memory: how many exec and EXIT records it had
}

// address is an address in the memory of a process, or of the kernel, whose pid is 0.
type address struct {
	pid     uint32
	program uint64
	addr    uint64
}

// memory is a copy of the memory at an address.
type memory struct {
	data  string
	text  bool // data is a whole text
	fixed bool // the memory does not change before the call ends
}

// maxCached bounds each half, in bytes.
const maxCached = 16 << 20

// at returns an address in the program that a process runs now, or in the kernel.
func (c *argCache) at(pid uint32, addr uint64) address {
	if int64(addr) < 0 {
		return address{addr: addr}
	}
	return address{pid, c.programs[pid], addr}
}

// keep keeps a copy of the memory at an address of a process.
func (c *argCache) keep(pid uint32, addr uint64, m memory) {
	if c.bytes >= maxCached || c.recent == nil {
		c.recent, c.older, c.bytes = make(map[address]memory), c.recent, 0
	}
	if c.programs == nil {
		c.programs = make(map[uint32]uint64)
	}
	if _, known := c.programs[pid]; !known {
		c.programs[pid] = 0
	}
	c.recent[c.at(pid, addr)] = m
	c.bytes += len(m.data) + 64 // about what an element takes
}

// drop forgets the memory at an address.
func (c *argCache) drop(pid uint32, addr uint64) {
	at := c.at(pid, addr)
	delete(c.recent, at)
	delete(c.older, at)
}

// find returns the kept copy of the memory at an address.
func (c *argCache) find(pid uint32, addr uint64) (memory, bool) {
	at := c.at(pid, addr)
	m, ok := c.recent[at]
	if !ok {
		m, ok = c.older[at]
	}
	return m, ok
}

// handle forgets the memory of a process that runs another program or has ended.
func (c *argCache) handle(record perfevent.Record) {
	var pid uint32
	switch r := record.(type) {
	case *perfevent.Comm:
		if r.Exec {
			pid = r.PID
		}
	case *perfevent.Exit:
		if r.PID == r.TID {
			pid = r.PID
		}
	}
	if n, ok := c.programs[pid]; ok {
		c.programs[pid] = n + 1
	}
}

// piece is memory in the record of each hit of a source. base is the record's field with its address,
// and field the record's field with its bytes.
type piece struct {
	plan.Piece
	base, field *ftrace.Field
}

// piece returns where a source's records have a piece of memory. It returns false if they do not have it, which
// is possible for texts of system calls.
func (s *source) piece(p plan.Piece) (piece, bool, error) {
	name := p.Field
	if name == "" {
		name = printfmt.SyscallText(p.Base)
	}
	format := s.probe.Format
	result := piece{p, format.Field(p.Base), format.Field(name)}
	switch {
	case result.base == nil:
		return piece{}, false, fmt.Errorf("%s has no field %s", format.Name, p.Base)
	case result.field == nil && p.Field != "":
		return piece{}, false, fmt.Errorf("%s has no field %s", format.Name, p.Field)
	}
	return result, result.field != nil && (!p.Text || result.field.String), nil
}

// all returns the pieces that the source's records have.
func (s *source) all(pieces []plan.Piece) ([]piece, error) {
	var all []piece
	for _, p := range pieces {
		one, ok, err := s.piece(p)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, one)
		}
	}
	return all, nil
}

// cacheArgs adds the memory in the hit's record to the argCache.
func (f *feed) cacheArgs(h *hit) {
	for i := range h.source.pieces {
		p := &h.source.pieces[i]
		base, ok := p.base.Uint(h.raw)
		if !ok || base == 0 {
			continue
		}
		addr := base + uint64(int64(p.Offset))
		if !p.Const && int64(addr) >= 0 {
			continue // the process may change it: a read at the later hit is better
		}
		b, ok := p.bytes(h.raw)
		if !ok {
			f.argCache.drop(h.sample.PID, addr)
			continue
		}
		f.argCache.keep(h.sample.PID, addr, memory{strings.Clone(string(b)), p.Text, p.Const})
	}
}

// bytes returns the piece of memory in a record. It returns false if the kernel could not read it.
func (p *piece) bytes(raw []byte) ([]byte, bool) {
	if p.Text {
		b, ok := p.field.Bytes(raw)
		return b, ok && len(b) > 0 && string(b) != unreadable
	}
	return p.field.Data(raw, 0)
}
