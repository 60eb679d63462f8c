package value

// uses is the order in which the keys of an LRU map were used: a ring of cells through next and
// previous, with the head's cell 0 for the newest and oldest.
type uses struct {
	links slab[link]
}

// link is a cell's place in the order. Cell i has link i+1.
type link struct {
	next, prev uint32
	key        string // of a key that is not one integer
	n          uint64
	text       bool
}

func newUses() *uses {
	u := &uses{}
	u.links.add()
	return u
}

// add puts a new cell first.
func (u *uses) add(cell uint32, k Key) {
	i := cell + 1
	for u.links.n <= i {
		u.links.add()
	}
	*u.links.at(i) = link{key: string(k.b), n: k.n, text: k.b != nil}
	u.first(i)
}

// touch puts a cell first.
func (u *uses) touch(cell uint32) {
	u.remove(cell)
	u.first(cell + 1)
}

func (u *uses) first(i uint32) {
	head, l := u.links.at(0), u.links.at(i)
	l.prev, l.next = 0, head.next
	u.links.at(head.next).prev = i
	head.next = i
}

// remove takes a cell out of the order.
func (u *uses) remove(cell uint32) {
	l := u.links.at(cell + 1)
	u.links.at(l.prev).next = l.next
	u.links.at(l.next).prev = l.prev
}

// oldest returns the key that was used least recently. There must be one.
func (u *uses) oldest() Key {
	l := u.links.at(u.links.at(0).prev)
	if l.text {
		return Key{b: []byte(l.key)}
	}
	return Key{n: l.n}
}
