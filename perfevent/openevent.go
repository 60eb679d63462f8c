package perfevent

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// attached is one open event.
type attached struct {
	fd  int
	id  uint64
	cpu int // anyCPU if the event follows a thread
	eventInfo
}

// noGroup is the group of an event that is alone.
const noGroup = -1

// perfEventOpen is the only caller of perf_event_open(2). text is Event.text.
func perfEventOpen(attr *unix.PerfEventAttr, text string, on subject, cpu, group int) (int, error) {
	if text != "" {
		terminated := append([]byte(text), 0)
		var pin runtime.Pinner // attr has the address as an integer
		pin.Pin(&terminated[0])
		defer pin.Unpin()
		attr.Ext1 = addressOf(terminated)
	}
	for tries := 1; ; tries++ {
		fd, err := unix.PerfEventOpen(attr, on.pid, cpu, group, on.flags|unix.PERF_FLAG_FD_CLOEXEC)
		if err != unix.EINTR || tries == maxInterrupts {
			return fd, err
		}
	}
}

// maxInterrupts bounds how often opening is tried again after EINTR. Signals are not its only
// cause: the kernel always returns it for a probe that is enabled in tracefs
// (probe_event_enable in kernel/trace/trace_uprobe.c).
const maxInterrupts = 100

// openSideBand opens the dummy event that carries the records about processes.
// The first on a CPU owns that CPU's ring.
func (s *Session) openSideBand(cpu int, on subject) error {
	for {
		attr := sideBandAttr(&s.opts, on.inherit, s.watermark(), s.format)
		attr.Bits &^= s.dropped
		if only := s.opts.Switches; only != nil && only.CPUs != nil && !slices.Contains(only.CPUs, s.cpus[cpu]) {
			attr.Bits &^= unix.PerfBitContextSwitch
		}
		setBit(&attr.Sample_type, keepsContexts, on.inherit && s.needsContexts())
		fd, err := perfEventOpen(&attr, "", on, s.cpus[cpu], noGroup)
		if err != nil {
			if s.dropFeature(err) {
				continue
			}
			return s.openError("", nil, err)
		}
		if s.rings[cpu].mem != nil {
			return s.join(fd, cpu, eventInfo{sampling: sideBand, origin: on.origin})
		}
		err = s.rings[cpu].mmap(fd, s.cpus[cpu], s.ringSize, unix.PROT_READ|unix.PROT_WRITE)
		if err == nil {
			return s.add(fd, cpu, eventInfo{sampling: sideBand, origin: on.origin})
		}
		if closeErr := unix.Close(fd); closeErr != nil {
			return closeErr
		}
		if err := s.smallerRing(err); err != nil {
			return err
		}
	}
}

// dropFeature gives up one feature that this kernel may lack or this user may not have, the
// newest first. It returns false if there is none left that could explain err.
func (s *Session) dropFeature(err error) bool {
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		// Namespace records need CAP_PERFMON even for own processes.
		if s.dropped&bitNamespaces != 0 {
			return false
		}
		s.dropped |= bitNamespaces
		return true
	}
	if !errors.Is(err, unix.EINVAL) {
		return false
	}
	if !s.swapped {
		s.swapContexts()
		return true
	}
	if s.format&unix.PERF_FORMAT_LOST != 0 {
		s.format &^= unix.PERF_FORMAT_LOST
		return true
	}
	for _, bit := range []uint64{bitCgroup, bitNamespaces} {
		if s.dropped&bit == 0 {
			s.dropped |= bit
			return true
		}
	}
	return false
}

// openSampling opens a sampling on a CPU whose ring exists.
func (s *Session) openSampling(cpu, index int, on subject) error {
	sampling := &s.samplings[index]
	inherit := on.inherit && s.target.kind == processTarget
	if s.counting {
		return s.openCounter(cpu, index, inherit, on)
	}
	if s.rings[cpu].mem == nil && !s.backward {
		return unix.ENODEV
	}
	attr := sampleAttr(sampling, inherit, s.watermark(), s.format)
	setBit(&attr.Bits, unix.PerfBitWriteBackward, s.backward)
	setBit(&attr.Bits, unix.PerfBitContextSwitch, index == 0 && s.opts.Switches != nil && s.opts.Switches.Sampled)
	fd, err := perfEventOpen(&attr, sampling.Event.text, on, s.cpus[cpu], noGroup)
	if err == nil {
		if err := s.setFilter(fd, sampling); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		if err := s.joinOrOwn(fd, cpu, eventInfo{sampling: int32(index), origin: on.origin}); err != nil {
			return err
		}
		if sampling.Filter == "" || !sampling.CountRejected || s.only != nil {
			return nil
		}
		return s.openRejected(cpu, index, on, fd)
	}
	failure := s.openError(sampling.Event.String(), sampling, err)
	if failure.Kind == ErrPermission && !sampling.ExcludeKernel {
		// Only a try shows whether the event exists and is allowed without the
		// kernel. Linux 7.3 does not allow the kernel's part of callchains either.
		attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitExcludeCallchainKernel
		fd, err := perfEventOpen(&attr, sampling.Event.text, on, s.cpus[cpu], noGroup)
		if err != nil {
			return s.openError(sampling.Event.String(), sampling, err)
		}
		failure.Kind = ErrKernelExcluded
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return failure
}

// openRejected opens an event that counts the hits that a sampling's filter rejects. The
// sampling's event leads its group, so both are enabled together.
func (s *Session) openRejected(cpu, index int, on subject, group int) error {
	sampling := s.samplings[index]
	sampling.Filter = "!(" + sampling.Filter + ")"
	attr := sampleAttr(&sampling, on.inherit && s.target.kind == processTarget, s.watermark(), s.format)
	attr.Bits &^= unix.PerfBitDisabled
	attr.Sample = 0 // it makes no samples
	fd, err := perfEventOpen(&attr, sampling.Event.text, on, s.cpus[cpu], group)
	if err != nil {
		return s.openError(sampling.Event.String(), &sampling, err)
	}
	if err := s.setFilter(fd, &sampling); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return s.add(fd, cpu, eventInfo{sampling: int32(index), origin: on.origin, part: rejected})
}

// openCounter opens an event that only counts.
func (s *Session) openCounter(cpu, index int, inherit bool, on subject) error {
	event := s.samplings[index].Event
	attr := counterAttr(event, inherit)
	if inherit && s.needsContexts() {
		attr.Sample_type = keepsContexts | unix.PERF_SAMPLE_TID // the kernel requires both together
	}
	fd, err := perfEventOpen(&attr, event.text, on, s.cpus[cpu], noGroup)
	if err == unix.EINVAL && attr.Sample_type != 0 {
		s.swapContexts()
		return s.openCounter(cpu, index, inherit, on)
	}
	if err != nil {
		return s.openError(event.String(), &s.samplings[index], err)
	}
	s.events = append(s.events, attached{fd: fd, eventInfo: eventInfo{sampling: int32(index), origin: on.origin}})
	return nil
}

// joinOrOwn makes an event write to its CPU's ring. If the CPU has no ring yet, it maps one
// that the event owns.
func (s *Session) joinOrOwn(fd, cpu int, info eventInfo) error {
	for s.rings[cpu].mem == nil {
		err := s.rings[cpu].mmap(fd, s.cpus[cpu], s.ringSize, unix.PROT_READ)
		if err == nil {
			return s.add(fd, cpu, info)
		}
		if err := s.smallerRing(err); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
	}
	return s.join(fd, cpu, info)
}

// join makes an event write to its CPU's ring.
func (s *Session) join(fd, cpu int, info eventInfo) error {
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, s.rings[cpu].fd); err != nil {
		return errors.Join(fmt.Errorf("join the ring of CPU %d: %w", s.cpus[cpu], err), unix.Close(fd))
	}
	return s.add(fd, cpu, info)
}

// add adds an event to the session, and reads its id.
func (s *Session) add(fd, cpu int, info eventInfo) error {
	c, err := readCount(fd, s.format)
	s.events = append(s.events, attached{fd: fd, id: c.id, cpu: s.cpus[cpu], eventInfo: info})
	if err != nil {
		return fmt.Errorf("read an event's id: %w", err)
	}
	return nil
}

// setFilter sets an event's filter. New threads inherit it with the event. The kernel filters
// before it counts, so no count includes rejected hits.
func (s *Session) setFilter(fd int, sampling *Sampling) error {
	if sampling.Filter == "" {
		return nil
	}
	err := unix.IoctlSetString(fd, unix.PERF_EVENT_IOC_SET_FILTER, sampling.Filter)
	if err == nil {
		return nil
	}
	e := &OpenError{Event: sampling.Event.String(), Target: s.target.String(), Kind: ErrFilter,
		Err: fmt.Errorf("filter %q: %w", sampling.Filter, err)}
	switch {
	case sampling.Event.attr.Type != unix.PERF_TYPE_TRACEPOINT:
		e.Hint = "only tracepoints and tracefs probes have fields to filter by"
	case errors.Is(err, unix.EINVAL):
		e.Hint = "it names a field that the event does not have, or is not a condition"
	}
	return e
}

// eventInfo describes the event that a record's id stands for.
type eventInfo struct {
	sampling int32 // index of the sampling; sideBand for a dummy event; notAnEvent
	origin   int32 // which attachment (thread) the event belongs to, see duplicates
	// kernelCount is the event's index in Session.kernelCounts, if part is counts or passing.
	kernelCount int32
	part        uint8 // noPart, or a part of CountInKernel or CountRejected
	set         int32 // 0 for the events of Open, else the number of the growth, from 1
}

const (
	sideBand   = -1
	notAnEvent = -2
)

// eventTable finds events by id. The kernel assigns ids in sequence, so a session's ids are
// nearly always close together, and an array holds them. If they are not, sparse does.
type eventTable struct {
	base   uint64
	dense  []eventInfo
	sparse map[uint64]*eventInfo
}

// denseSlack is how many more array entries than events are tolerated.
const denseSlack = 1 << 14

func newEventTable(ids []uint64, infos []eventInfo) eventTable {
	var t eventTable
	if len(ids) == 0 {
		return t
	}
	low, high := ids[0], ids[0]
	for _, id := range ids {
		low, high = min(low, id), max(high, id)
	}
	if high-low < uint64(4*len(ids)+denseSlack) {
		t.base = low
		t.dense = make([]eventInfo, high-low+1)
		for i := range t.dense {
			t.dense[i].sampling = notAnEvent
		}
		for i, id := range ids {
			t.dense[id-low] = infos[i]
		}
		return t
	}
	t.sparse = make(map[uint64]*eventInfo, len(ids))
	for i, id := range ids {
		t.sparse[id] = &infos[i]
	}
	return t
}

// find returns the event with an id, or nil if there is none.
func (t *eventTable) find(id uint64) *eventInfo {
	if t.sparse != nil {
		return t.sparse[id]
	}
	i := id - t.base
	if i >= uint64(len(t.dense)) || t.dense[i].sampling == notAnEvent {
		return nil
	}
	return &t.dense[i]
}

// each calls f for every event of the table.
func (t *eventTable) each(f func(id uint64, info *eventInfo)) {
	for id, info := range t.sparse {
		f(id, info)
	}
	for i := range t.dense {
		if t.dense[i].sampling != notAnEvent {
			f(t.base+uint64(i), &t.dense[i])
		}
	}
}

// nameLayouts makes the decoder, with the layouts of samples and the ids of events.
func (s *Session) nameLayouts() {
	attrs := make([]unix.PerfEventAttr, len(s.samplings))
	for i := range s.samplings {
		attrs[i] = sampleAttr(&s.samplings[i], false, 0, 0)
	}
	s.dec = newDecoder(attrs)
	s.nameEvents()
}

// nameEvents sets the decoder's table of events by id.
func (s *Session) nameEvents() {
	ids := make([]uint64, len(s.events))
	infos := make([]eventInfo, len(s.events))
	for i, e := range s.events {
		ids[i], infos[i] = e.id, e.eventInfo
	}
	s.dec.events = newEventTable(ids, infos)
}

// Events returns what a Decoder needs to decode the session's records: the samplings in their
// order, then the side-band. Each of Changes adds the ids of new events, and drops the ids of
// events that an earlier change replaced. Events may be called while Read runs.
func (s *Session) Events() []EventAttr {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	now := s.now()
	events := make([]EventAttr, len(now)+1)
	for i := range now {
		events[i].Attr, events[i].UserProbe = sampleAttr(&now[i], false, 0, s.format), now[i].UserProbe
	}
	last := len(s.samplings)
	events[last].Attr = sideBandAttr(&s.opts, false, 0, s.format)
	s.dec.events.each(func(id uint64, info *eventInfo) {
		i := int(info.sampling)
		if i == sideBand {
			i = last
		}
		events[i].IDs = append(events[i].IDs, id)
	})
	return events
}
