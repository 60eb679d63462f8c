package snapshot

import "slices"

// Deadlocks are the circles of threads of which each waits for what the next one
// holds, in one process or among several. A thread that went on since it was looked
// at is in none. Who waits for the lock of a file waits for the process that holds it,
// which is one of its threads only where it has no other.
func Deadlocks(snapshots []*Snapshot) [][]*Thread {
	byTID, alone := make(map[int]*Thread), make(map[int]*Thread)
	for _, s := range snapshots {
		for _, t := range s.Threads {
			byTID[t.TID] = t
		}
		if len(s.Threads) == 1 {
			alone[s.PID] = s.Threads[0]
		}
	}
	next := func(t *Thread) *Thread {
		switch h := t.Holder; {
		case h == nil || h.Ended:
			return nil
		case h.TID != 0:
			return byTID[h.TID]
		default:
			return alone[h.PID]
		}
	}
	var circles [][]*Thread
	seen := make(map[*Thread]bool)
	for _, s := range snapshots {
		for _, t := range s.Threads {
			var path []*Thread
			for at := t; at != nil && !seen[at]; at = next(at) {
				seen[at] = true
				path = append(path, at)
				if i := slices.Index(path, next(at)); i >= 0 && !slices.ContainsFunc(path[i:], (*Thread).wentOn) {
					circles = append(circles, path[i:])
				}
			}
		}
	}
	return circles
}

// wentOn tells whether a thread has left the wait that it was found in.
func (t *Thread) wentOn() bool {
	files := threadFiles{pid: t.TID, clocks: clocks{}}
	now, err := files.read(t.TID)
	return err != nil || !t.sameWait(now) || now.switches != t.switches
}

// sameWait tells whether a thread waits in the same call at another look.
func (t *Thread) sameWait(now *Thread) bool {
	return now.State != 'R' && now.Number == t.Number && now.Args == t.Args
}
