package perfevent

import "testing"

// BenchmarkSpool is what a storm of small samples costs on its way through the spool, while so many
// batches wait: a storm comes and goes, and the handler is behind at times.
func BenchmarkSpool(b *testing.B) {
	for _, test := range []struct {
		name    string
		waiting int
	}{{"2 wait", 2}, {"100 wait", 100}} {
		b.Run(test.name, func(b *testing.B) {
			p := newSpool(256 << 20)
			sample := &Sample{Raw: make([]byte, 44)}
			b.ReportAllocs()
			current := p.get()
			waiting := 0
			for b.Loop() {
				p.waiting.Add(1)
				current.add(sample)
				if !current.full() {
					continue
				}
				p.put(current)
				current = p.get()
				if waiting++; waiting == test.waiting {
					for ; waiting > 0; waiting-- {
						p.recycle(p.take())
					}
				}
			}
		})
	}
}
