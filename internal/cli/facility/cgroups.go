package facility

import (
	"errors"
	"slices"
	"strings"
)

// cgroups returns nil if a hierarchy is mounted whose groups perf can watch. A v2
// hierarchy serves if no v1 hierarchy has the controller.
func (h *host) cgroups() error {
	text, err := h.proc().ReadFile("cgroups")
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

// mounted returns nil if a cgroup hierarchy is mounted that perf can use: version 2 if
// hierarchy is "0", else version 1 with the controller. hierarchy is from /proc/cgroups.
func (h *host) mounted(hierarchy string) error {
	mounts, err := h.proc().Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		v2 := hierarchy == "0" && m.Type == "cgroup2"
		v1 := m.Type == "cgroup" && slices.Contains(m.Options, "perf_event")
		if v1 || v2 {
			return nil
		}
	}
	return errors.New("no cgroup hierarchy with this controller is mounted")
}
