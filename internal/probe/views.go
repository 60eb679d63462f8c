package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/internal/process/cgroup"
	"github.com/ringtap/ringtap/uprobe"
)

// View is the set of processes whose view of the file system is used for the targets of user
// probes: a container has its own libraries.
type View struct {
	PIDs   []int  // empty: this process's view
	cgroup string // control group that PIDs come from; "" if none
}

// ViewOf returns the view of the processes of a control group, given by its directory, if group
// is not empty. Otherwise it is the view of a thread, if tid is not 0, or of pids.
func ViewOf(pids []int, tid int, group string) (View, error) {
	switch {
	case group != "":
		pids, err := cgroup.Processes(group)
		if err != nil {
			return View{}, fmt.Errorf("list the processes of a control group: %w", err)
		}
		return View{PIDs: pids, cgroup: group}, nil
	case tid != 0:
		return View{PIDs: []int{tid}}, nil
	}
	return View{PIDs: pids}, nil
}

// first returns the process that decides what a name means; 0 is this process.
func (v View) first() int {
	if len(v.PIDs) == 0 {
		return 0
	}
	return v.PIDs[0]
}

// eachFile calls attach for one process per distinct file that the target of a user probe means
// in the view. A file without the function is skipped if another file has it.
func (s *Set) eachFile(d *uprobe.Definition, attach func(pid int) error) error {
	view := s.options.View
	pids := []int{0}
	if len(view.PIDs) > 0 {
		pids = distinctViews(d.Target, view.PIDs)
	} else if view.cgroup != "" {
		s.note("no process is in %s yet: %s means the host's file, not a container's own", view.cgroup, d.Target)
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

// distinctViews returns one process for each file that the name means to some of pids,
// preferably one that has mapped it. If no process sees a file, it returns the first pid, whose
// error then tells why.
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

// seen returns the file that a name means to a process, and whether the process has mapped it.
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
