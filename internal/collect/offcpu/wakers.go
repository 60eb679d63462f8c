package offcpu

import (
	"io"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// wokenBy separates the stack of a sleeper from its waker's.
const wokenBy = "--"

// byInterrupt replaces the waker if an interrupt woke the sleeper: the interrupted thread has
// nothing to do with it.
const byInterrupt = "[interrupt]"

// woken joins the stack of the running thread to the stack of the thread that it wakes. Parts of
// the wait that earlier windows counted do not change.
func (c *Collector) woken(rows *table.Rows, s *perfevent.Sample) {
	tid, ok := c.columns.woken.Int(s.Raw)
	t := c.threads[uint32(tid)]
	if !ok || t == nil || t.state != waiting || t.joined || t.column != voluntaryTime {
		return
	}
	t.joined = true
	if c.interrupted(s) {
		t.row = rows.With(rows.With(t.row, wokenBy), byInterrupt)
		return
	}
	waker := rows.Of(s)
	t.row = rows.Join(t.row, wokenBy, waker, rows.Comm(waker))
}

// Bits of common_flags (include/linux/trace_events.h, enum trace_flag_type).
const (
	flagHardIRQ = 0x08
	flagSoftIRQ = 0x10
	flagNMI     = 0x40
)

// interrupted reports whether the wakeup came from an interrupt, and not from the running thread. A
// softirq may also run because the thread itself raised it, for example by sending to a local
// socket. Then the thread is the waker.
func (c *Collector) interrupted(s *perfevent.Sample) bool {
	if c.columns.flags == nil {
		return false
	}
	flags, ok := c.columns.flags.Int(s.Raw)
	if !ok || flags&(flagHardIRQ|flagSoftIRQ|flagNMI) == 0 {
		return false
	}
	kernel, _ := callchain.Split(s.Callchain)
	if flags&(flagHardIRQ|flagNMI) != 0 || len(kernel) == 0 || len(c.irqExits) == 0 {
		return true
	}
	for _, pc := range kernel {
		for _, exit := range c.irqExits {
			if pc-exit.start < exit.size {
				return true
			}
		}
	}
	return false
}

// kernelCode is the address range of a kernel function.
type kernelCode struct{ start, size uint64 }

// irqExitsOf finds the functions by which the kernel leaves an interrupt and runs softirqs.
// It returns none if the kernel hides addresses.
func irqExitsOf(host process.Host) (found []kernelCode) {
	file, err := host.Kallsyms()
	if err != nil {
		return nil
	}
	defer file.Close()
	return readIRQExits(file)
}

// readIRQExits reads the text of kallsyms, in which the kernel's own functions are sorted by
// address.
func readIRQExits(r io.Reader) (found []kernelCode) {
	open := -1 // index of the function whose end was not seen yet
	err := symbols.EachKernelSymbol(r, func(s *symbols.KernelSymbol) error {
		if open >= 0 && s.Address > found[open].start {
			found[open].size, open = s.Address-found[open].start, -1
		}
		switch string(s.Name) {
		case "irq_exit", "irq_exit_rcu", "__irq_exit_rcu":
			if s.Address != 0 && len(s.Module) == 0 && open < 0 {
				open = len(found)
				found = append(found, kernelCode{start: s.Address})
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}
