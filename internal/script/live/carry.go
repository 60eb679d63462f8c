package live

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// carried keeps memory that the record of a hit has, for the hits that ask for it by its
// address. The older half goes when there is too much.
type carried struct {
	recent, older map[address]memory
	bytes         int               // of recent
	programs      map[uint32]uint64 // of the processes with memory: how many they have run
}

// address is one in the memory of a process, or of the kernel, which has the pid 0.
type address struct {
	pid     uint32
	program uint64
	addr    uint64
}

// memory is what was at an address.
type memory struct {
	data  string
	text  bool // it ended where data ends
	fixed bool // it is the same until the call ends
}

// maxCarried bounds each half, in bytes.
const maxCarried = 16 << 20

// at returns the address of a process's program.
func (c *carried) at(pid uint32, addr uint64) address {
	if int64(addr) < 0 {
		return address{addr: addr}
	}
	return address{pid, c.programs[pid], addr}
}

// keep keeps what is at an address of a process.
func (c *carried) keep(pid uint32, addr uint64, m memory) {
	if c.bytes >= maxCarried || c.recent == nil {
		c.recent, c.older, c.bytes = make(map[address]memory), c.recent, 0
	}
	if c.programs == nil {
		c.programs = make(map[uint32]uint64)
	}
	if _, known := c.programs[pid]; !known {
		c.programs[pid] = 0
	}
	c.recent[c.at(pid, addr)] = m
	c.bytes += len(m.data) + 64 // which is about what an element takes
}

// drop forgets what was at an address.
func (c *carried) drop(pid uint32, addr uint64) {
	at := c.at(pid, addr)
	delete(c.recent, at)
	delete(c.older, at)
}

// find returns what was at an address when it was kept.
func (c *carried) find(pid uint32, addr uint64) (memory, bool) {
	at := c.at(pid, addr)
	m, ok := c.recent[at]
	if !ok {
		m, ok = c.older[at]
	}
	return m, ok
}

// handle forgets the memory of processes that run another program, or have ended.
func (c *carried) handle(record perfevent.Record) {
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

// piece is memory that the record of each hit of a source has.
type piece struct {
	plan.Piece
	base, field *ftrace.Field
}

// piece prepares memory that an event takes along. A system call's parameter may have none.
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

// all prepares pieces of memory that the records of an event have.
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

// carry keeps the memory that the record of a hit has.
func (f *feed) carry(h *hit) {
	for i := range h.source.pieces {
		p := &h.source.pieces[i]
		base, ok := p.base.Uint(h.raw)
		if !ok || base == 0 {
			continue
		}
		addr := base + uint64(int64(p.Offset))
		if !p.Const && int64(addr) >= 0 {
			continue // what the process has there later is better
		}
		b, ok := p.bytes(h.raw)
		if !ok {
			f.carried.drop(h.sample.PID, addr)
			continue
		}
		f.carried.keep(h.sample.PID, addr, memory{strings.Clone(string(b)), p.Text, p.Const})
	}
}

// bytes returns the memory out of a record. It is false if the kernel could not read it.
func (p *piece) bytes(raw []byte) ([]byte, bool) {
	if p.Text {
		b, ok := p.field.Bytes(raw)
		return b, ok && len(b) > 0 && string(b) != unreadable
	}
	return p.field.Data(raw, 0)
}
