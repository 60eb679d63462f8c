package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// readFormat is what reading an event gives: its value, the times it was
// enabled and running, its id, and from Linux 6.0 how many of its records were
// lost.
const readFormat = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING |
	unix.PERF_FORMAT_ID | unix.PERF_FORMAT_LOST

// count is what reading an event gives.
type count struct {
	value, enabled, running, id, lost uint64
}

func readCount(fd int, format uint64) (count, error) {
	var b [40]byte
	want := 32
	if format&unix.PERF_FORMAT_LOST != 0 {
		want = 40
	}
	n, err := unix.Read(fd, b[:want])
	if err != nil {
		return count{}, err
	}
	if n != want {
		return count{}, fmt.Errorf("read %d bytes of an event's %d", n, want)
	}
	le := binary.LittleEndian
	return count{value: le.Uint64(b[0:]), enabled: le.Uint64(b[8:]), running: le.Uint64(b[16:]),
		id: le.Uint64(b[24:]), lost: le.Uint64(b[32:])}, nil
}

// noGroup is of an event that is alone.
const noGroup = -1

// perfEventOpen is the one place that opens an event. The text is what its
// configuration points to, "" for most.
func perfEventOpen(attr *unix.PerfEventAttr, text string, on subject, cpu, group int) (int, error) {
	if text != "" {
		terminated := append([]byte(text), 0)
		var pin runtime.Pinner // the kernel reads it through an integer
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

// maxInterrupts is how often opening is tried again after EINTR. A signal is not
// the only reason for it: of a probe that is enabled in tracefs the kernel says
// the same each time (probe_event_enable in kernel/trace/trace_uprobe.c).
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

// dropFeature gives up one thing that this kernel, or this user, may not have,
// the newest first, and reports whether it is worth another try.
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
		if sampling.Filter == "" || !sampling.CountRest || s.only != nil {
			return nil
		}
		return s.openRest(cpu, index, on, fd)
	}
	failure := s.openError(sampling.Event.String(), sampling, err)
	if failure.Kind == ErrPermission && !sampling.ExcludeKernel {
		// Would it be allowed without the kernel, and is there such an event
		// at all? Only trying tells. Linux 7.3 does not allow the kernel's part of
		// callchains either.
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

// openRest opens an event that counts what the filter of a sampling keeps out. It is on when the
// sampling's event is, which leads its group.
func (s *Session) openRest(cpu, index int, on subject, group int) error {
	rest := s.samplings[index]
	rest.Filter = "!(" + rest.Filter + ")"
	attr := sampleAttr(&rest, on.inherit && s.target.kind == processTarget, s.watermark(), s.format)
	attr.Bits &^= unix.PerfBitDisabled
	attr.Sample = 0 // it makes no samples
	fd, err := perfEventOpen(&attr, rest.Event.text, on, s.cpus[cpu], group)
	if err != nil {
		return s.openError(rest.Event.String(), &rest, err)
	}
	if err := s.setFilter(fd, &rest); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return s.add(fd, cpu, eventInfo{sampling: int32(index), origin: on.origin, part: theRest})
}

// openCounter opens an event that only counts.
func (s *Session) openCounter(cpu, index int, inherit bool, on subject) error {
	event := s.samplings[index].Event
	attr := counterAttr(event, inherit)
	if inherit && s.needsContexts() {
		attr.Sample_type = keepsContexts | unix.PERF_SAMPLE_TID // the kernel wants the latter with it
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

// joinOrOwn makes an event write to its CPU's ring. Where no side-band event has
// that, the first event owns it.
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

// add takes an event into the session.
func (s *Session) add(fd, cpu int, info eventInfo) error {
	c, err := readCount(fd, s.format)
	s.events = append(s.events, attached{fd: fd, id: c.id, cpu: s.cpus[cpu], eventInfo: info})
	if err != nil {
		return fmt.Errorf("read an event's id: %w", err)
	}
	return nil
}
