package pressure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trigger is what is to be watched, and what makes an alarm: Threshold of stalled
// time within Window.
type Trigger struct {
	Resource string // one of Resources
	// Place is the directory of the pressure files: a control group's (cgroup v2),
	// or another than /proc/pressure; "" is the whole system.
	Place string
	// Full counts the time in which no task got on, else it is the time in which
	// at least one did not.
	Full              bool
	Threshold, Window time.Duration
}

// The bounds of a window (WINDOW_MIN_US and WINDOW_MAX_US in kernel/sched/psi.c),
// and what it must be a multiple of without CAP_SYS_RESOURCE (PSI_FREQ).
const (
	LeastWindow    = 500 * time.Millisecond
	GreatestWindow = 10 * time.Second
	OrdinaryWindow = 2 * time.Second
)

// Resources are what can be under pressure.
func Resources() []string { return []string{"cpu", "memory", "io", "irq"} }

// Form is how a Trigger is written.
const Form = "'cpu|memory|io some|full THRESHOLD_US WINDOW_US', such as 'memory some 150000 2000000'"

// Parse reads a Trigger as a user writes it: the resource, some or full, and two
// times in microseconds. The resource may be followed by @ and the directory of
// its pressure file.
func Parse(text string) (Trigger, error) {
	words := strings.Fields(text)
	if len(words) != 4 {
		return Trigger{}, fmt.Errorf("%q is not a trigger: want %s", text, Form)
	}
	var t Trigger
	var placed bool
	t.Resource, t.Place, placed = strings.Cut(words[0], "@")
	if !slices.Contains(Resources(), t.Resource) {
		return Trigger{}, fmt.Errorf("no pressure information for %q: there is %s", t.Resource, strings.Join(Resources(), ", "))
	}
	if placed && t.Place == "" {
		return Trigger{}, fmt.Errorf("%q names no directory after the @", words[0])
	}
	switch words[1] {
	case "some":
	case "full":
		t.Full = true
	default:
		return Trigger{}, fmt.Errorf("%q is neither some (a task is stalled) nor full (all tasks are)", words[1])
	}
	var err error
	if t.Threshold, err = microseconds(words[2]); err != nil {
		return Trigger{}, fmt.Errorf("threshold %w", err)
	}
	if t.Window, err = microseconds(words[3]); err != nil {
		return Trigger{}, fmt.Errorf("window %w", err)
	}
	return t, t.validate()
}

// microseconds reads a time as the kernel does: a whole number of 32 bits.
func microseconds(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of microseconds up to %d", text, uint32(math.MaxUint32))
	}
	return time.Duration(n) * time.Microsecond, nil
}

// validate refuses what no kernel takes.
func (t Trigger) validate() error {
	switch {
	case t.Threshold > t.Window:
		return fmt.Errorf("the threshold of %s is longer than the window of %s: give the threshold first, then the window, %d to %d microseconds",
			t.Threshold, t.Window, LeastWindow.Microseconds(), GreatestWindow.Microseconds())
	case t.Window < LeastWindow || t.Window > GreatestWindow:
		return fmt.Errorf("window of %s: the kernel takes %s to %s, %d to %d microseconds", t.Window, LeastWindow, GreatestWindow,
			LeastWindow.Microseconds(), GreatestWindow.Microseconds())
	case t.Threshold == 0:
		return fmt.Errorf("a threshold of zero: the kernel wants at least a microsecond")
	case t.Resource == "irq" && !t.Full:
		return fmt.Errorf("irq some: an interrupt stalls all tasks of its CPU, so the kernel only has irq full")
	}
	return nil
}

// Within is the trigger on a control group's own pressure, given its directory,
// unless it has a place already.
func (t Trigger) Within(cgroup string) Trigger {
	if t.Place == "" {
		t.Place = cgroup
	}
	return t
}

// Kind is the kernel's word for what stalls.
func (t Trigger) Kind() string {
	if t.Full {
		return "full"
	}
	return "some"
}

// String is the form that Parse reads.
func (t Trigger) String() string {
	resource := t.Resource
	if t.Place != "" {
		resource += "@" + t.Place
	}
	return fmt.Sprintf("%s %s", resource, t.written())
}

// written is what the kernel is told.
func (t Trigger) written() string {
	return fmt.Sprintf("%s %d %d", t.Kind(), t.Threshold.Microseconds(), t.Window.Microseconds())
}
