package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ringtap/ringtap/internal/cgroup"
	"github.com/ringtap/ringtap/internal/library"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/uprobe"
)

// viewers returns the processes as which the targets of user probes are looked for:
// those that are watched, since a container has libraries of its own; 0 is ringtap.
// There is at least one.
func (a *asking) viewers() ([]int, error) {
	switch {
	case a.pid != 0:
		return []int{a.pid}, nil
	case a.tid != 0:
		return []int{a.tid}, nil
	case a.cgroup == "":
		return []int{0}, nil
	}
	pids, err := cgroup.Processes(a.cgroup)
	if err != nil {
		return nil, fmt.Errorf("list the processes of a control group: %w", err)
	}
	if len(pids) == 0 {
		return []int{0}, nil
	}
	return pids, nil
}

// eachFile calls a function for one of the viewers of each file that a user probe's
// target is for them. One that does not have the function named is left out if
// another has it.
func (a *asking) eachFile(viewers []int, definition string, attach func(pid int) error) error {
	d, err := uprobe.Parse(definition)
	if err != nil {
		return &usageError{err}
	}
	if a.cgroup != "" && viewers[0] == 0 {
		fmt.Fprintf(a.out.stderr, "note: no process is in %s yet: %s is the host's, not a container's own\n", visible.Text(a.cgroup), visible.Text(d.Target))
	}
	viewers = distinctViews(d.Target, viewers)
	var without []error
	for _, pid := range viewers {
		err := attach(pid)
		var symbol *uprobe.SymbolError
		if errors.As(err, &symbol) {
			without = append(without, err)
		} else if err != nil {
			return err
		}
	}
	if len(without) == len(viewers) {
		return without[0]
	}
	for _, err := range without {
		fmt.Fprintln(a.out.stderr, "note:", visible.Text(err.Error()))
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
