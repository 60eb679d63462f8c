package offcpu

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process/cgroup"
)

// watched returns the threads of pids and of the control group that count, with their processes.
func (c *Collector) watched(pids []int) map[uint32]int {
	all := make(map[uint32]int)
	add := func(tid int) {
		if !c.counts(uint32(tid)) {
			return
		}
		if process, ok := c.processOf(uint32(tid)); ok {
			all[uint32(tid)] = int(process)
		}
	}
	for _, pid := range pids {
		tids, _ := c.opts.Host.Threads(pid) // none if the process has ended: Open will report that
		for _, tid := range tids {
			add(tid)
		}
	}
	if c.opts.Group != "" {
		threads, _ := cgroup.Threads(c.opts.Group) // none if the group is gone
		for _, tid := range threads {
			add(tid)
		}
	}
	return all
}

// addInitial starts the waits of threads that have not switched in the run. Threads that hang are
// what the user looks for. The kernel says which function they are in.
func (c *Collector) addInitial(rows *table.Rows, now uint64) {
	for tid, pid := range c.initial {
		path := filepath.Join(strconv.Itoa(pid), "task", strconv.Itoa(int(tid)))
		state := c.stateOf(path)
		if state == 'R' {
			continue
		}
		delete(c.initial, tid)
		if ended(state) || rows.Own(uint32(pid)) {
			continue
		}
		row := c.found.row(tid, now)
		if !row.Known() {
			row = c.found.read(rows, pid, int(tid))
		}
		if !row.Known() {
			row = rows.Process(uint32(pid))
			for _, function := range c.kernelStack(path) {
				row = rows.With(row, function)
			}
			row = rows.With(row, sinceBefore)
		}
		begin := rows.Begin()
		c.threads[tid] = &thread{state: waiting, early: true, begin: begin, since: begin, checked: c.lost, row: row}
	}
}

// kernelStack returns the kernel functions that a thread is in, root first, or none if the caller
// may not see them. Lines of the file are "[<0>] name+0x1/0x2", leaf first (proc_pid_stack(5)).
func (c *Collector) kernelStack(path string) (functions []string) {
	if !c.opts.Stacks.Kernel {
		return nil
	}
	text, err := c.opts.Host.ReadFile(path + "/stack")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), "] ")
		if name, _, _ = strings.Cut(name, "+"); ok && name != "" {
			functions = append(functions, name)
		}
	}
	slices.Reverse(functions)
	return functions
}

// leaveGroup forgets the waits of threads that have left the control group, because their end will
// not be seen.
func (c *Collector) leaveGroup() {
	if c.opts.Group == "" {
		return
	}
	threads, err := cgroup.Threads(c.opts.Group)
	if err != nil {
		return // the group is gone, and its threads too
	}
	members := make(map[uint32]bool, len(threads))
	for _, tid := range threads {
		members[uint32(tid)] = true
	}
	for tid, t := range c.threads {
		if t.state != waiting || members[tid] {
			continue
		}
		if !ended(c.stateOf(strconv.Itoa(int(tid)))) { // otherwise the record of its end is on its way
			delete(c.threads, tid)
			c.window.unknown++
		}
	}
}

// family appends a process and all its descendants to all (proc_tid_children(5)).
func (c *Collector) family(all []int, pid int) []int {
	all = append(all, pid)
	tids, _ := c.opts.Host.Threads(pid) // one that has ended has no children
	for _, tid := range tids {
		text, _ := c.opts.Host.Read(pid, "task/"+strconv.Itoa(tid)+"/children")
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = c.family(all, child)
			}
		}
	}
	return all
}
