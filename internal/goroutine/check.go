package goroutine

import "slices"

// maxChecked is how many goroutines are looked at to see whether the layout is right.
const maxChecked = 4 * maxSpans

// check tells why what is read makes no sense, "" if it does.
func (r *Runtime) check() (why string, err error) {
	for range attempts {
		list, err := r.goroutines()
		if err != nil {
			return "", err
		}
		if len(list) == 0 && r.list == 0 {
			return "it has no symbol table, and no list of goroutines was found among its variables", nil
		}
		if len(list) == 0 {
			return "its runtime has not started", nil
		}
		list = list[:min(len(list), maxChecked)]
		alive, err := r.sane(list)
		if err != nil {
			return "", err
		}
		if !alive {
			continue
		}
		if fit, err := r.fits(list); fit || err != nil {
			return "", err
		}
	}
	return "what is in the places of its goroutines does not look like goroutines of this Go", nil
}

// fits reports whether the layout is that of the goroutines at the addresses: those
// that do not run stand in code, on their stacks, and were started with functions. A
// few may change while they are read.
func (r *Runtime) fits(list []uint64) (bool, error) {
	var b batch
	looked, wrong := 0, 0
	for part := range slices.Chunk(list, maxSpans) {
		if err := r.read(&b, part); err != nil {
			return false, err
		}
		for i := range part {
			s, ok := r.parse(&b, i)
			if ok && (isDead(s.status) || s.status == running) {
				continue
			}
			looked++
			if !ok || !r.stands(&s) {
				wrong++
			}
		}
	}
	return wrong <= looked/16, nil
}

// stands reports whether a goroutine is in code, and on its stack.
func (r *Runtime) stands(s *state) bool {
	pc, sp := s.top()
	_, inCode := r.process.Space.Find(pc)
	return inCode && sp > s.lo && sp < s.hi && (s.start == 0 || r.isFunction(s.start))
}

// isFunction reports whether a function begins at an address. Of the functions of other
// files, such as plugins, it is only known that they are code.
func (r *Runtime) isFunction(addr uint64) bool {
	if r.table != nil {
		if i, ok := r.table.Find(addr - r.bias); ok {
			return r.table.Entry(i) == addr-r.bias
		}
	}
	_, ok := r.process.Space.Find(addr)
	return ok
}
