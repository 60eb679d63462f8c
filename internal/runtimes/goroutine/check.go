package goroutine

import "slices"

// maxChecked is how many goroutines are read to check the layout.
const maxChecked = 4 * maxSpans

// check returns why the data read makes no sense, or "" if it does.
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

// fits reports whether the layout is right for the goroutines in list. Those that do not run
// must have a pc in code, a stack pointer on their stack, and a start function. A few may be
// wrong, because they change while they are read.
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

// stands reports whether a goroutine's pc is in code and its stack pointer on its stack.
func (r *Runtime) stands(s *state) bool {
	pc, sp := s.top()
	_, inCode := r.process.Space.Find(pc)
	return inCode && sp > s.lo && sp < s.hi && (s.start == 0 || r.isFunction(s.start))
}

// isFunction reports whether a function starts at an address. In other files, such as plugins,
// it only checks that there is code.
func (r *Runtime) isFunction(addr uint64) bool {
	if r.table != nil {
		if i, ok := r.table.Find(addr - r.bias); ok {
			return r.table.Entry(i) == addr-r.bias
		}
	}
	_, ok := r.process.Space.Find(addr)
	return ok
}
