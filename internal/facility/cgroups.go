package facility

import (
	"errors"
	"os"
	"strings"
)

// cgroups looks for a hierarchy whose groups perf can watch. A v2 hierarchy
// serves if no v1 hierarchy has taken the controller.
func (h *host) cgroups() error {
	text, err := os.ReadFile(h.path("proc/cgroups"))
	if err != nil {
		return absent(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 4 && fields[0] == "perf_event" && fields[3] == "1" {
			return h.mounted(fields[1])
		}
	}
	return errAbsent
}

// mounted tells whether a cgroup hierarchy that can name groups for perf is
// mounted: version 2 for hierarchy 0, else version 1 with the controller.
func (h *host) mounted(hierarchy string) error {
	mounts, err := os.ReadFile(h.path("proc/self/mounts"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		v2 := hierarchy == "0" && fields[2] == "cgroup2"
		v1 := fields[2] == "cgroup" && strings.Contains(","+fields[3]+",", ",perf_event,")
		if v1 || v2 {
			return nil
		}
	}
	return errors.New("no cgroup hierarchy with this controller is mounted")
}
