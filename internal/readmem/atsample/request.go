package atsample

import (
	"encoding/binary"
	"slices"

	"github.com/ringtap/ringtap/callchain"
)

// request is a message to the helper. The off-CPU reader takes the same requests.
type request struct {
	kind byte
	pid  int
	addr uint64 // see the kinds; the sampling for reqSkipSampling
	end  uint64 // see the kinds
}

// Kinds of requests. An encoded request is one byte for the kind, four for pid, and eight each for addr and end.
const (
	reqAttach       = 'a' // attach to the runtimes of process pid, which is new or runs another program
	reqDeepStacks   = 'b' // read its stacks past the copies; read the list of its areas again
	reqSwitchToGo   = 'g' // code in [addr, end) switches to a goroutine's stack: read C's stack there; read the areas again
	reqSwitchToC    = 'c' // code in [addr, end) switches to the system stack: read the goroutine's stack there; read the areas again
	reqMarkDead     = 'o' // [addr, end) holds no frames: do not read it
	reqSkipSampling = 'n' // do not read deep stacks at this sampling any more
	reqMarkEnd      = 'e' // stacks below addr end there: do not read past it
	reqResendPages  = 'r' // send all pages again, because the caller's tables differ
	reqForget       = 'f' // the process has ended
	requestSize     = 21
)

// crossing returns the code that a reqSwitchToGo or reqSwitchToC is about. It reports false for other kinds.
func (r request) crossing() (callchain.Crossing, bool) {
	return callchain.Crossing{Start: r.addr, End: r.end, IntoGo: r.kind == reqSwitchToGo}, r.kind == reqSwitchToGo || r.kind == reqSwitchToC
}

// encode returns the request as decodeRequest decodes it.
func (r request) encode() []byte {
	b := binary.LittleEndian.AppendUint32([]byte{r.kind}, uint32(r.pid))
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, r.addr), r.end)
}

// decodeRequest decodes a request. It reports false if b does not have the right length.
func decodeRequest(b []byte) (r request, ok bool) {
	if len(b) != requestSize {
		return request{}, false
	}
	return request{b[0], int(binary.LittleEndian.Uint32(b[1:])), binary.LittleEndian.Uint64(b[5:]), binary.LittleEndian.Uint64(b[13:])}, true
}

// stackConfig says how to read the stacks of one process, as requests have asked for. Copies share its slices,
// so that apply replaces a slice and never writes to it.
type stackConfig struct {
	areas            []stackArea          // where its stacks may lie, by address
	isDeep           bool                 // read stacks past their copies
	crossings        []callchain.Crossing // read the stacks that this code switches from
	skippedSamplings []int                // read no stacks at these samplings; sorted
}

// maxCrossings is the most crossings of one process. Most Go programs have two, one of each kind.
const maxCrossings = 8

// apply updates c by a request about the same process.
func (c *stackConfig) apply(req request) {
	c.areas = req.updateAreas(c.areas)
	c.isDeep = c.isDeep || req.kind == reqDeepStacks
	if crossing, ok := req.crossing(); ok && !slices.Contains(c.crossings, crossing) && len(c.crossings) < maxCrossings {
		c.crossings = append(slices.Clip(c.crossings), crossing)
	}
}

// updateAreas returns the areas of the process's stacks after the request. areas are those before it.
func (r request) updateAreas(areas []stackArea) []stackArea {
	switch r.kind {
	case reqDeepStacks, reqSwitchToGo, reqSwitchToC:
		return readAreas(r.pid)
	case reqMarkEnd:
		return splitAt(areas, r.addr)
	case reqMarkDead:
		return markDead(areas, r.addr, r.end)
	}
	return areas
}
