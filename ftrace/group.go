package ftrace

import "errors"

// Group is the dynamic events that belong to this process.
type Group struct{ name string }

// NewGroup makes an empty group of dynamic events in file, which is
// "uprobe_events" or "kprobe_events", after it has removed those of dead owners.
func (t *FS) NewGroup(file string) (*Group, error) { return nil, errors.ErrUnsupported }

// Name is the group's name, the system of its events.
func (g *Group) Name() string { return g.name }

// Define adds an event and returns the number by which perf_event_open(2)
// knows it. If the kernel refuses the definition, the error is a
// *DefinitionError.
func (g *Group) Define(d Dynamic) (id uint64, err error) { return 0, errors.ErrUnsupported }

// Close removes all events of the group. The perf events opened on them must be
// closed before.
func (g *Group) Close() error { return nil }

// RemoveStale removes the events of groups whose owner is gone.
func (t *FS) RemoveStale() (removed []string, err error) { return nil, errors.ErrUnsupported }
