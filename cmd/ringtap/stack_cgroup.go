package main

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/cgroup"
)

// processesIn lists the processes of a control group and of those below it.
func processesIn(name string) ([]int, error) {
	path, err := cgroup.Find(name)
	if err != nil {
		return nil, fmt.Errorf("-g %s: %w", name, err)
	}
	pids, err := cgroup.Processes(path)
	if err != nil {
		return nil, fmt.Errorf("list the processes of a control group: %w", err)
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("no process is in control group %s", path)
	}
	return pids, nil
}
