package value

// uses keeps the keys of an LRU map in order of use. It is a ring of links through next and prev.
// Link 0 is the head: its next is the newest and its prev the oldest.
type uses struct {
	links slab[link]
}

// link is a cell's place in the order. Cell i has link i+1.
type link struct {
	next, prev uint32
	key        string // of a key that is not an integer
	n          uint64
	text       bool
}

func newUses() *uses {
	u := &uses{}
	u.links.add()
	return u
}

// add adds a new cell as the newest.
func (u *uses) add(cell uint32, k Key) {
	i := cell + 1
	for u.links.n <= i {
		u.links.add()
	}
	*u.links.at(i) = link{key: string(k.b), n: k.n, text: k.b != nil}
	u.first(i)
}

// touch makes a cell the newest.
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

// remove removes a cell from the order.
func (u *uses) remove(cell uint32) {
	l := u.links.at(cell + 1)
	u.links.at(l.prev).next = l.next
	u.links.at(l.next).prev = l.prev
}

// oldest returns the least recently used key. There must be one.
func (u *uses) oldest() Key {
	l := u.links.at(u.links.at(0).prev)
	if l.text {
		return Key{b: []byte(l.key)}
	}
	return Key{n: l.n}
}
