package uprobe

// Merged reports whether several of the plan's sites share an event. Then Hits returns the
// counts of each site.
func (a *Attachment) Merged() bool { return a.merged }

// Hits returns how often each of the plan's sites was hit, in order: see ftrace.Group.Hits.
// Call it only if Merged is true.
func (a *Attachment) Hits() ([]uint64, error) { return a.group.Hits() }
