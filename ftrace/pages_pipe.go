package ftrace

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Pipe reads and consumes the records of a trace buffer, in time order over all CPUs. Its
// methods must be called by one goroutine.
//
// It reads the pages of per_cpu/cpuN/trace_pipe_raw, not the text of trace_pipe, for four
// reasons:
//
//   - Text is slow. For each record of 28 bytes the kernel looks up two symbols and prints some
//     ninety bytes, one page of text per system call. With 150,000 calls of vfs_read by dd bs=1,
//     on an emulated Linux 6.1 with two CPUs, cat(1) of trace_pipe lost 54,810 and took 49 s of
//     CPU time; ringtap functrace lost none and took 20 s.
//   - A task's name may contain a newline, which looks like the end of a line in the text.
//   - A page says how many records are missing before it, and where.
//   - Records that are not shown need not be printed.
type Pipe struct {
	fs     *FS
	layout pageLayout
	cpus   []*cpuPipe
	// seen is the latest time that was read before the current round.
	seen uint64
}

// cpuPipe is one CPU's part of the buffer.
type cpuPipe struct {
	cpu     int
	fd      int
	entries []Entry // read but not yet delivered
	latest  uint64  // latest time that was read
}

// maxPages is how many pages of one CPU are read before the next CPU's.
const maxPages = 256

// OpenPipe starts to read the trace buffer of an instance. On the top-level tracefs, it takes
// records away from other readers. The caller must close the pipe before the instance.
func (t *FS) OpenPipe() (*Pipe, error) {
	text, err := t.headerPage()
	if err != nil {
		return nil, fmt.Errorf("read the trace buffer: %w", err)
	}
	layout, err := parsePageLayout(text)
	if err != nil {
		return nil, fmt.Errorf("read the trace buffer: %w", err)
	}
	dirs, err := filepath.Glob(filepath.Join(t.dir, "per_cpu", "cpu[0-9]*"))
	if err == nil && len(dirs) == 0 {
		err = fmt.Errorf("no CPU in %s", filepath.Join(t.dir, "per_cpu"))
	}
	if err != nil {
		return nil, fmt.Errorf("read the trace buffer: %w", err)
	}
	p := &Pipe{fs: t, layout: layout}
	for _, dir := range dirs {
		cpu, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "cpu"))
		if err != nil {
			continue
		}
		path := filepath.Join(dir, "trace_pipe_raw")
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("read the trace buffer: %w", &os.PathError{Op: "open", Path: path, Err: err})
		}
		p.cpus = append(p.cpus, &cpuPipe{cpu: cpu, fd: fd})
	}
	slices.SortFunc(p.cpus, func(a, b *cpuPipe) int { return a.cpu - b.cpu })
	return p, nil
}

// headerPage reads events/header_page. On some kernels only the top-level tracefs has it.
func (t *FS) headerPage() (string, error) {
	text, err := t.read("events/header_page")
	if errors.Is(err, os.ErrNotExist) {
		text, err = At(filepath.Dir(filepath.Dir(t.dir))).read("events/header_page")
	}
	return text, err
}

// Close stops reading.
func (p *Pipe) Close() error {
	for _, c := range p.cpus {
		unix.Close(c.fd)
	}
	p.cpus = nil
	return nil
}

// Read reads the buffer and calls hand with the records that the previous call had seen: no
// earlier ones can arrive any more. next is the record after e on the same CPU, or nil if there
// is none yet. Both are valid until hand returns. If hand returns an error, Read returns it. If
// more is true, there is a backlog, and the next call should not wait.
func (p *Pipe) Read(hand func(e, next *Entry) error) (more bool, err error) {
	safe, latest := p.seen, p.seen
	for _, c := range p.cpus {
		pages, err := c.read(p.layout, maxPages)
		if err != nil {
			return false, fmt.Errorf("read the trace buffer of CPU %d: %w", c.cpu, err)
		}
		latest = max(latest, c.latest)
		if pages == maxPages {
			more = true
			safe = min(safe, c.latest) // the CPU has more records
		}
	}
	p.seen = latest
	return more, p.hand(safe, hand)
}

// Drain calls hand with all remaining records. Tracing must have stopped.
func (p *Pipe) Drain(hand func(e, next *Entry) error) error {
	for {
		more, err := p.Read(hand)
		if err != nil {
			return err
		}
		if !more {
			return p.hand(^uint64(0), hand)
		}
	}
}

// DrainUntil calls hand with all records up to until, a past time of the buffer's trace_clock.
// Later records stay for the next call: they may come from the reading itself.
func (p *Pipe) DrainUntil(until uint64, hand func(e, next *Entry) error) error {
	for _, c := range p.cpus {
		for pages := 1; pages > 0 && c.latest <= until; {
			var err error
			if pages, err = c.read(p.layout, 1); err != nil {
				return fmt.Errorf("read the trace buffer of CPU %d: %w", c.cpu, err)
			}
		}
	}
	return p.hand(until, hand)
}

// hand delivers the records up to a time, the earliest first.
func (p *Pipe) hand(until uint64, hand func(e, next *Entry) error) error {
	at := make([]int, len(p.cpus)) // indexes of the first records not yet delivered
	defer func() {
		for i, c := range p.cpus {
			c.entries = slices.Delete(c.entries, 0, at[i])
		}
	}()
	for {
		first := -1
		for i, c := range p.cpus {
			if at[i] < len(c.entries) && c.entries[at[i]].Time <= until &&
				(first < 0 || c.entries[at[i]].Time < p.cpus[first].entries[at[first]].Time) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		entries := p.cpus[first].entries[at[first]:]
		at[first]++
		var next *Entry
		if len(entries) > 1 {
			next = &entries[1]
		}
		if err := hand(&entries[0], next); err != nil {
			return err
		}
	}
}

// read reads the pages that are ready, at most maxPages, and returns how many it read.
func (c *cpuPipe) read(layout pageLayout, maxPages int) (pages int, err error) {
	for ; pages < maxPages; pages++ {
		page := make([]byte, layout.size) // not reused: the records point into it
		n, err := unix.Read(c.fd, page)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN || err == nil && n == 0:
			return pages, nil
		case err != nil:
			return pages, err
		}
		c.entries, err = layout.appendPage(c.entries, page[:n], c.cpu)
		if err != nil {
			return pages, err
		}
		if n := len(c.entries); n > 0 {
			c.latest = max(c.latest, c.entries[n-1].Time)
		}
	}
	return pages, nil
}

// Lost returns how many records the buffer has lost since it was last cleared
// (per_cpu/cpuN/stats). They were overwritten before they were read, or there was no room.
func (p *Pipe) Lost() (uint64, error) {
	var lost uint64
	for _, c := range p.cpus {
		stats, err := p.fs.bufferStats(c.cpu)
		if err != nil {
			return 0, err
		}
		lost += stats["overrun"] + stats["dropped events"]
	}
	return lost, nil
}

// bufferStats reads the counts of a CPU's trace buffer, by the kernel's names.
func (t *FS) bufferStats(cpu int) (map[string]uint64, error) {
	file, err := os.Open(filepath.Join(t.dir, "per_cpu", fmt.Sprintf("cpu%d", cpu), "stats"))
	if err != nil {
		return nil, fmt.Errorf("read the trace buffer's counts: %w", err)
	}
	defer file.Close()
	stats := map[string]uint64{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); err == nil {
			stats[name] = n
		}
	}
	return stats, lines.Err()
}
