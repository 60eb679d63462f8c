package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/process"
)

// item is the current position of an iterator. /proc provides the lists, and kernel memory the
// members of the structs that the items are.
//
//	/proc → thread, descriptor, range of addresses ─┬─ what /proc has of them
//	                    └─ kcore.Tasks → addresses ─┴─ /proc/kcore, any member
type item struct {
	tid, fd int
	area    process.Area
	path    string // the file's
	// Kernel addresses, 0 if unknown.
	task, file, vma uint64
}

// checkIterator returns an error if an iterator does not exist.
func checkIterator(a *syntax.AttachPoint) *syntax.Error {
	e := &syntax.Error{Pos: a.Pos, Len: len(a.Text)}
	switch known := live.Iterators(); {
	case !slices.Contains(known, a.Args[0]):
		e.Msg = "there is no iterator " + a.Args[0]
		e.Hint = "These are there: " + strings.Join(known, ", ") + "."
	case len(a.Args) > 1:
		e.Msg = "only a BPF program can be pinned to a file"
		e.Hint = "iter:" + a.Args[0] + " runs once, when the program starts."
	default:
		return nil
	}
	return e
}

// iterate runs the clauses of iterators. It returns false if the program has ended.
func (s *session) iterate(now time.Duration) bool {
	for _, p := range s.points.iters {
		visit := func() bool {
			s.machine.Hit(p.clause, s.hit(p, now))
			return !s.over()
		}
		each := s.eachTask
		switch p.list {
		case "task_file":
			each = s.eachFile
		case "task_vma":
			each = s.eachArea
		}
		if !each(visit) {
			return false
		}
	}
	return true
}

// eachTask visits all threads in order of their ids, until visit returns false.
func (s *session) eachTask(visit func() bool) bool {
	host := process.Host{}
	processes, _ := host.Processes()
	var all []int
	for _, pid := range processes {
		threads, _ := host.Threads(pid)
		all = append(all, threads...)
	}
	slices.Sort(all)
	for _, tid := range all {
		if s.enter(tid) && !visit() {
			return false
		}
	}
	return true
}

// enter makes a thread the current item. It returns false if the thread has exited.
func (s *session) enter(tid int) bool {
	s.item = item{tid: tid}
	if s.kernel.tasks == nil {
		return process.Host{}.Exists(tid)
	}
	var ok bool
	s.item.task, ok = s.kernel.tasks.Find(tid)
	return ok
}

// eachFile visits the open files of all processes, in order of process and descriptor, until visit
// returns false.
func (s *session) eachFile(visit func() bool) bool {
	host := process.Host{}
	processes, _ := host.Processes()
	for _, pid := range processes {
		descriptors, err := host.Descriptors(pid)
		if err != nil || !s.enter(pid) {
			continue // it has exited
		}
		for _, fd := range descriptors {
			path, err := os.Readlink(host.DescriptorPath(pid, fd))
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was closed
			}
			// If the name may not be read, path is "". The file counts all the same.
			s.item.fd, s.item.path = fd, path
			if s.kernel.tasks != nil {
				if s.item.file = s.kernel.tasks.File(s.item.task, fd); s.item.file == 0 {
					continue
				}
			}
			if !visit() {
				return false
			}
		}
	}
	return true
}

// eachArea visits the mappings of all processes, in order of process and address, until visit
// returns false.
func (s *session) eachArea(visit func() bool) bool {
	host := process.Host{}
	processes, _ := host.Processes()
	for _, pid := range processes {
		if !s.enter(pid) {
			continue
		}
		var known map[uint64]uint64
		if s.kernel.tasks != nil {
			known = s.kernel.tasks.Mappings(s.item.task)
		}
		goesOn := true
		_ = host.Areas(pid, func(a *process.Area) bool {
			s.item.area, s.item.path, s.item.vma = *a, string(a.Path), known[a.Start]
			if int64(a.Start) < 0 || s.kernel.tasks != nil && s.item.vma == 0 { // the kernel's own page, or a mapping that is too new
				return true
			}
			goesOn = visit()
			return goesOn
		})
		if !goesOn {
			return false
		}
	}
	return true
}

// itemValue returns a function that reads a value of the current item, from kernel memory if
// possible, otherwise from /proc.
func (s *session) itemValue(source *check.Source, host plan.Host) (func() value.Value, *syntax.Error) {
	switch source.Name {
	case "fd":
		return func() value.Value { return value.Int(uint64(s.item.fd)) }, nil
	case "path":
		return func() value.Value { return value.String(s.item.path) }, nil
	}
	err := s.kernel.findTasks(host)
	if err == nil {
		return func() value.Value {
			address := map[string]uint64{"task": s.item.task, "file": s.item.file, "vma": s.item.vma}[source.Name]
			if len(source.Path) == 0 && source.Form == check.Plain {
				return value.Int(address)
			}
			return s.kernel.at(address, source)
		}, nil
	}
	if get := s.listed(source, host); get != nil {
		return get, nil
	}
	return nil, &syntax.Error{
		Pos: source.Pos, Msg: fmt.Sprintf("/proc does not have this of ctx.%s, and %v", source.Name, err),
		Hint: "It has of ctx.task: " + plan.TaskMembers + "; of ctx.file: f_pos, f_inode.i_ino, path() of f_path; of ctx.vma: vm_start, vm_end, path() of vm_file.f_path; and ctx.fd.",
	}
}

// listed returns a function that reads a value of the current item from /proc, or nil if /proc does
// not have it.
func (s *session) listed(source *check.Source, host plan.Host) func() value.Value {
	if source.Name == "task" {
		field, ok := plan.OfTask(host, source)
		if !ok {
			return nil
		}
		return func() value.Value { return s.item.ofTask(field) }
	}
	for _, known := range []struct {
		way string
		get func(*item) uint64
	}{
		{"file.f_pos", (*item).position},
		{"file.f_inode inode.i_ino", (*item).inode},
		{"vm_area_struct.vm_start", func(i *item) uint64 { return i.area.Start }},
		{"vm_area_struct.vm_end", func(i *item) uint64 { return i.area.End }},
	} {
		if source.Form == check.Plain && plan.IsWay(host, source.Path, known.way) {
			return func() value.Value { return value.Int(known.get(&s.item)) }
		}
	}
	return nil
}

// ofTask returns a value of the thread from /proc.
func (i *item) ofTask(field plan.Field) value.Value {
	host := process.Host{}
	status, _ := host.Status(i.tid)
	switch field.Root {
	case check.LeaderRoot:
		return value.Int(uint64(status.TGID))
	case check.LeaderCommRoot:
		return value.String(host.Comm(status.TGID))
	case check.ParentRoot:
		return value.Int(uint64(status.PPID))
	case check.ParentCommRoot:
		return value.String(host.Comm(status.PPID))
	case check.UIDRoot:
		return value.Int(uint64(status.UIDs[0]))
	case check.GIDRoot:
		return value.Int(uint64(status.GIDs[0]))
	}
	switch field.Name {
	case "tid":
		return value.Int(uint64(i.tid))
	case "comm":
		return value.String(status.Comm)
	}
	return value.Int(host.Inode(strconv.Itoa(i.tid) + "/" + field.Name))
}

// position returns the file's current offset.
func (i *item) position() uint64 {
	info, _ := process.Host{}.DescriptorInfo(i.tid, i.fd)
	return info.Position
}

// inode returns the file's inode number.
func (i *item) inode() uint64 {
	info, _ := process.Host{}.DescriptorInfo(i.tid, i.fd)
	return info.Inode
}
