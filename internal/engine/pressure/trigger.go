package pressure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trigger says which pressure to watch. The alarm comes when tasks stall for Threshold within
// Window.
type Trigger struct {
	Resource string // one of Resources
	// Place is the directory of the pressure files: that of a cgroup v2 control group, or "" for
	// the whole system (/proc/pressure).
	Place string
	// Full counts the time in which all tasks were stalled. Otherwise time counts if at least one
	// task was stalled.
	Full              bool
	Threshold, Window time.Duration
}

// The bounds of a window (WINDOW_MIN_US and WINDOW_MAX_US in kernel/sched/psi.c). Without
// CAP_SYS_RESOURCE, a window must be a multiple of OrdinaryWindow (PSI_FREQ).
const (
	LeastWindow    = 500 * time.Millisecond
	GreatestWindow = 10 * time.Second
	OrdinaryWindow = 2 * time.Second
)

// Resources returns the resources whose pressure the kernel can measure.
func Resources() []string { return []string{"cpu", "memory", "io", "irq"} }

// Form describes the text that Parse accepts.
const Form = "'cpu|memory|io some|full THRESHOLD_US WINDOW_US', such as 'memory some 150000 2000000'"

// Parse parses a trigger that a user wrote: the resource, some or full, then threshold and window
// in microseconds. "@DIRECTORY" may follow the resource, and names the directory of the pressure
// file.
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

// microseconds parses a time. The kernel accepts an unsigned number of 32 bits.
func microseconds(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of microseconds up to %d", text, uint32(math.MaxUint32))
	}
	return time.Duration(n) * time.Microsecond, nil
}

// validate returns an error for triggers that every kernel refuses.
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

// Within returns the trigger for the pressure of the control group in directory cgroup. It changes
// nothing if t has a Place already.
func (t Trigger) Within(cgroup string) Trigger {
	if t.Place == "" {
		t.Place = cgroup
	}
	return t
}

// Kind returns "some" or "full", the kernel's name for the kind of stall.
func (t Trigger) Kind() string {
	if t.Full {
		return "full"
	}
	return "some"
}

// String returns the text that Parse accepts.
func (t Trigger) String() string {
	resource := t.Resource
	if t.Place != "" {
		resource += "@" + t.Place
	}
	return fmt.Sprintf("%s %s", resource, t.written())
}

// written returns the text to write to the pressure file.
func (t Trigger) written() string {
	return fmt.Sprintf("%s %d %d", t.Kind(), t.Threshold.Microseconds(), t.Window.Microseconds())
}
