package main

import "context"

// latency is bpftrace's usual one-liner for the time of a function's calls.
func latency(libc, function string) string {
	probe := libc + ":" + function
	return "uprobe:" + probe + " { @start[tid] = nsecs; } " +
		"uretprobe:" + probe + " /@start[tid]/ { @ = hist(nsecs - @start[tid]); delete(@start[tid]); }"
}

// hist measures what a histogram of malloc's times adds to each call: a probe at
// its entry and one at its return.
func (b *bench) hist(ctx context.Context) (rows []row, err error) {
	h, err := b.startHits(ctx)
	if err != nil {
		return nil, err
	}
	defer h.stop()
	if err := h.await(ctx, false); err != nil {
		return nil, err
	}
	ways := []prober{
		{tool: "ringtap", calls: b.hits, args: []string{b.ringtap, "hist", "libc:malloc"}},
		{tool: "bpftrace", calls: b.hits, missing: missing("bpftrace"), args: []string{"bpftrace", "-e", latency(h.libc, "malloc")}},
	}
	added, err := b.perHit(ctx, h, ways)
	r := row{what: "the time of a call of malloc, as a histogram", unit: "ns", own: added[0]}
	return []row{r.against(ways[1].tool, ways[1].missing, added[1], 1)}, err
}
