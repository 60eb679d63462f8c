package ftrace

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// eventProbes is the file for event probes. It lists all other dynamic events, too.
const eventProbes = "dynamic_events"

// ErrNoEventProbes is returned if the kernel has no event probes.
var ErrNoEventProbes = errors.New("this kernel has no event probes (Linux 5.15, CONFIG_EPROBE_EVENTS)")

// TryEventProbe checks whether the kernel has event probes: dynamic events on other events,
// which fetch the memory that fields of their records point to. perf cannot sample them; an
// Instance gets their records. TryEventProbe defines one and removes it again, because the
// kernel's README names them even if they are not built in. The error wraps ErrNoEventProbes if
// there are none.
func (t *FS) TryEventProbe() error {
	group, err := t.NewGroup(eventProbes)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoEventProbes
	}
	if err != nil {
		return err
	}
	_, err = group.Define(Dynamic{Type: 'e', Event: "trial", Place: "sched.sched_switch"})
	if errors.As(err, new(*DefinitionError)) && errors.Is(err, unix.EINVAL) {
		err = ErrNoEventProbes
	}
	return errors.Join(err, group.Close())
}

// onlyEventProbes returns the lines of dynamic_events that define event probes.
func onlyEventProbes(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "e:") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}
