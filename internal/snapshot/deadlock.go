package snapshot

import "slices"

// A WaitGraph records which threads wait for locks that other threads hold, in one process or
// several.
type WaitGraph struct {
	snapshots []*Snapshot
	byTID     map[int]*Thread
	alone     map[int]*Thread // the only thread of a process, by PID
}

// NewWaitGraph returns the graph of snapshots that were taken with Options.Locks.
func NewWaitGraph(snapshots []*Snapshot) *WaitGraph {
	g := &WaitGraph{snapshots, make(map[int]*Thread), make(map[int]*Thread)}
	for _, s := range snapshots {
		for _, t := range s.Threads {
			g.byTID[t.TID] = t
		}
		if len(s.Threads) == 1 {
			g.alone[s.PID] = s.Threads[0]
		}
	}
	return g
}

// Holder returns the thread that holds what t waits for, or nil if it is in none of the snapshots.
// A file lock belongs to a process, so its holder is a thread only if that process has just one.
func (g *WaitGraph) Holder(t *Thread) *Thread {
	switch h := t.Holder; {
	case h == nil || h.Ended:
		return nil
	case h.TID != 0:
		return g.byTID[h.TID]
	default:
		return g.alone[h.PID]
	}
}

// Deadlocks returns the cycles of threads in which each waits for what the next one holds. It
// leaves out a cycle if one of its threads has moved on since the snapshot.
func (g *WaitGraph) Deadlocks() [][]*Thread {
	var circles [][]*Thread
	seen := make(map[*Thread]bool)
	for _, s := range g.snapshots {
		for _, t := range s.Threads {
			var path []*Thread
			for at := t; at != nil && !seen[at]; at = g.Holder(at) {
				seen[at] = true
				path = append(path, at)
				if i := slices.Index(path, g.Holder(at)); i >= 0 && !slices.ContainsFunc(path[i:], (*Thread).wentOn) {
					circles = append(circles, path[i:])
				}
			}
		}
	}
	return circles
}

// wentOn reports whether a thread has left the wait that the snapshot found it in.
func (t *Thread) wentOn() bool {
	files := threadFiles{pid: t.TID, clocks: clocks{}}
	now, err := files.read(t.TID)
	return err != nil || !t.sameWait(now) || now.switches != t.switches
}

// sameWait reports whether a thread is in the same call when it is read again, as now.
func (t *Thread) sameWait(now *Thread) bool {
	return now.State != 'R' && now.number == t.number && now.args == t.args
}
