package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
)

// outstanding is bcc's memleak in bpftrace's language: what malloc gave out and free
// did not get, with its size and stack, by address.
func outstanding(libc string, pid int) string {
	begin, end, free := "uprobe:"+libc+":malloc", "uretprobe:"+libc+":malloc", "uprobe:"+libc+":free"
	return fmt.Sprintf("%s /pid == %d/ { @size[tid] = arg0; } "+
		"%s /@size[tid]/ { @bytes[retval] = @size[tid]; @stack[retval] = ustack; delete(@size[tid]); } "+
		"%s /pid == %d/ { delete(@bytes[arg0]); delete(@stack[arg0]); }", begin, pid, end, free, pid)
}

// bccMemleak is the name of bcc's tool in Debian.
const bccMemleak = "memleak-bpfcc"

// bccMissing says why bcc's memleak can't run; it compiles its program against the
// kernel's headers, which may not be there or not suit.
func bccMissing(ctx context.Context, pid int) string {
	if why := missing(bccMemleak); why != "" {
		return why
	}
	if err := exec.CommandContext(ctx, bccMemleak, "-p", strconv.Itoa(pid), "1", "1").Run(); err != nil {
		return bccMemleak + " does not compile its program for this kernel"
	}
	return ""
}

// memleak measures what it adds to a pair of malloc and free that all memory which is
// not free is known by stack.
func (b *bench) memleak(ctx context.Context) (rows []row, err error) {
	h, err := b.startHits(ctx)
	if err != nil {
		return nil, err
	}
	defer h.stop()
	if err := h.await(ctx, false); err != nil {
		return nil, err
	}
	pid := strconv.Itoa(h.pid())
	ways := []prober{
		{tool: "ringtap", calls: b.hits, args: []string{b.ringtap, "memleak", "-p", pid, "-i", "3600"}},
		{tool: "bpftrace", calls: max(1, b.hits/stepped), missing: missing("bpftrace"), args: []string{"bpftrace", "-e", outstanding(h.libc, h.pid())}},
		{tool: "bcc's memleak", calls: max(1, b.hits/stepped), missing: bccMissing(ctx, h.pid()), args: []string{bccMemleak, "-p", pid, "3600"}},
	}
	if err := h.await(ctx, false); err != nil {
		return nil, err
	}
	added, err := b.perHit(ctx, h, ways)
	r := row{what: "malloc and free under memleak", unit: "ns", own: added[0]}
	for i, way := range ways[1:] {
		rows = append(rows, r.against(way.tool, way.missing, added[1+i], 1))
	}
	return rows, err
}
