package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ringtap/ringtap/internal/cgroup"
	"github.com/ringtap/ringtap/internal/library"
	"github.com/ringtap/ringtap/uprobe"
)

// View is the processes as which the targets of user probes are looked for: a
// container has libraries of its own.
type View struct {
	PIDs   []int  // none: as this process sees them
	Cgroup string // whose processes PIDs are; "" if they are of none
}

// ViewOf is the view of processes, of a thread, or of the processes of a control group by
// its directory, whichever there is.
func ViewOf(pids []int, tid int, group string) (View, error) {
	switch {
	case group != "":
		pids, err := cgroup.Processes(group)
		if err != nil {
			return View{}, fmt.Errorf("list the processes of a control group: %w", err)
		}
		return View{PIDs: pids, Cgroup: group}, nil
	case tid != 0:
		return View{PIDs: []int{tid}}, nil
	}
	return View{PIDs: pids}, nil
}

// first is the process that decides what a name means; 0 is this one.
func (v View) first() int {
	if len(v.PIDs) == 0 {
		return 0
	}
	return v.PIDs[0]
}

// eachFile calls a function for one process of the view for each file that the target
// of a user probe is for them. A file without the function is left out if another
// one has it.
func (s *Set) eachFile(d *uprobe.Definition, attach func(pid int) error) error {
	view := s.options.View
	pids := []int{0}
	if len(view.PIDs) > 0 {
		pids = distinctViews(d.Target, view.PIDs)
	} else if view.Cgroup != "" {
		s.note("no process is in %s yet: %s means the host's file, not a container's own", view.Cgroup, d.Target)
	}
	var without []error
	for _, pid := range pids {
		err := attach(pid)
		if errors.As(err, new(*uprobe.SymbolError)) {
			without = append(without, err)
		} else if err != nil {
			return err
		}
	}
	if len(without) == len(pids) {
		return without[0]
	}
	for _, err := range without {
		s.note("%v", err)
	}
	return nil
}

// distinctViews keeps of some processes one for each file that they see by a name,
// one that has mapped it if there is: the first of all if none sees one, to tell why.
func distinctViews(name string, pids []int) []int {
	if len(pids) == 1 {
		return pids
	}
	type view struct {
		pid    int
		file   os.FileInfo
		mapped bool
	}
	var views []view
	for _, pid := range pids {
		v, err := view{pid: pid}, error(nil)
		if v.file, v.mapped, err = seen(name, pid); err != nil {
			continue
		}
		i := slices.IndexFunc(views, func(o view) bool { return os.SameFile(o.file, v.file) })
		switch {
		case i < 0:
			views = append(views, v)
		case v.mapped && !views[i].mapped:
			views[i] = v
		}
	}
	if len(views) == 0 {
		return pids[:1]
	}
	var distinct []int
	for _, v := range views {
		distinct = append(distinct, v.pid)
	}
	return distinct
}

// seen returns which file a process sees by a name, and whether it has it mapped.
func seen(name string, pid int) (file os.FileInfo, mapped bool, err error) {
	target, err := library.Find(name, library.Options{PID: pid})
	if err != nil {
		return nil, false, err
	}
	defer target.File.Close()
	if file, err = target.File.Stat(); err != nil {
		return nil, false, err
	}
	mapped, err = library.Mapped(pid, target.KernelPath)
	return file, mapped, err
}
