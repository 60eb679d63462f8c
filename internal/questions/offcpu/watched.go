package offcpu

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/cgroup"
	"github.com/ringtap/ringtap/internal/table"
)

// watched lists the threads that count of processes, and of the control group.
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
		tids, _ := c.opts.Host.Threads(pid) // one that has ended has none: Open will say so
		for _, tid := range tids {
			add(tid)
		}
	}
	if c.opts.Group != "" {
		threads, _ := cgroup.Threads(c.opts.Group) // nor has a group that is gone
		for _, tid := range threads {
			add(tid)
		}
	}
	return all
}

// addInitial begins the waits of threads that have not been seen to switch at all:
// what hangs is what the user looks for. The kernel says in which function.
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

// kernelStack names the kernel functions that a thread is in, root first, where the
// caller may know: lines are "[<0>] name+0x1/0x2", leaf first
// (proc_pid_stack(5)).
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

// leaveGroup forgets the waits of threads that have left the control group meanwhile:
// nobody will see their end.
func (c *Collector) leaveGroup() {
	if c.opts.Group == "" {
		return
	}
	threads, err := cgroup.Threads(c.opts.Group)
	if err != nil {
		return // the group is gone, and so are they
	}
	members := make(map[uint32]bool, len(threads))
	for _, tid := range threads {
		members[uint32(tid)] = true
	}
	for tid, t := range c.threads {
		if t.state != waiting || members[tid] {
			continue
		}
		if !ended(c.stateOf(strconv.Itoa(int(tid)))) { // else the record of that is on its way
			delete(c.threads, tid)
			c.window.unknown++
		}
	}
}

// family adds a process, its children and theirs (proc_tid_children(5)).
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
