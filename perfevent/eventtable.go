package perfevent

// eventInfo is what a record's event id stands for.
type eventInfo struct {
	sampling int32 // index of the sampling; sideBand for a dummy event; notAnEvent
	origin   int32 // which attachment (thread) the event belongs to, see duplicates
	apart    int32 // of a part: its place in Session.apart
	part     uint8 // of CountApart and CountRest
	set      int32 // 0 for those of Open, then counting the growths, see growth
}

const (
	sideBand   = -1
	notAnEvent = -2
)

// eventTable finds events by id. The kernel hands ids out in sequence, so those
// of one session nearly always lie close together and an array finds them.
type eventTable struct {
	base   uint64
	dense  []eventInfo
	sparse map[uint64]*eventInfo
}

// denseSlack is how many more array entries than events are tolerated.
const denseSlack = 1 << 14

func newEventTable(ids []uint64, infos []eventInfo) eventTable {
	var t eventTable
	if len(ids) == 0 {
		return t
	}
	low, high := ids[0], ids[0]
	for _, id := range ids {
		low, high = min(low, id), max(high, id)
	}
	if high-low < uint64(4*len(ids)+denseSlack) {
		t.base = low
		t.dense = make([]eventInfo, high-low+1)
		for i := range t.dense {
			t.dense[i].sampling = notAnEvent
		}
		for i, id := range ids {
			t.dense[id-low] = infos[i]
		}
		return t
	}
	t.sparse = make(map[uint64]*eventInfo, len(ids))
	for i, id := range ids {
		t.sparse[id] = &infos[i]
	}
	return t
}

// find returns nil for an id that is not one of the table's.
func (t *eventTable) find(id uint64) *eventInfo {
	if t.sparse != nil {
		return t.sparse[id]
	}
	i := id - t.base
	if i >= uint64(len(t.dense)) || t.dense[i].sampling == notAnEvent {
		return nil
	}
	return &t.dense[i]
}

// each calls f for every event of the table.
func (t *eventTable) each(f func(id uint64, info *eventInfo)) {
	for id, info := range t.sparse {
		f(id, info)
	}
	for i := range t.dense {
		if t.dense[i].sampling != notAnEvent {
			f(t.base+uint64(i), &t.dense[i])
		}
	}
}
