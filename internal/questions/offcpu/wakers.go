package offcpu

import (
	"io"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// wokenBy stands between the stack of a sleeper and that of its waker.
const wokenBy = "--"

// byInterrupt takes the waker's place if an interrupt woke the sleeper: the thread that was
// interrupted has nothing to do with it.
const byInterrupt = "[interrupt]"

// woken joins the stack of the thread that runs to that of the one it wakes. What
// was counted of the wait in earlier windows stays where it is.
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

// interrupted reports whether the running thread was interrupted for what the sample is
// of. A softirq may also run because the thread itself raised it, as when it sends to a
// local socket. Then the thread is the waker.
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

// kernelCode is where a kernel function is.
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

// readIRQExits reads the text of kallsyms, which has the kernel's own functions in the order
// of their addresses.
func readIRQExits(r io.Reader) (found []kernelCode) {
	open := -1 // index of the function whose end has not been seen
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
