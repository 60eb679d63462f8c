package uprobe

// Merged tells whether several of the plan's sites share an event, so that only
// Hits tells them apart without looking at samples.
func (a *Attachment) Merged() bool { return a.merged }

// Hits returns how often each of the plan's sites was hit, in their order: see
// ftrace.Group.Hits. It is for attachments that are Merged.
func (a *Attachment) Hits() ([]uint64, error) { return a.group.Hits() }
