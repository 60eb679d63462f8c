package callchain

import (
	"slices"
	"testing"
)

func TestSplitCutsACallchainAtItsMarkers(t *testing.T) {
	guest := ^uint64(2048 - 1) // PERF_CONTEXT_GUEST
	for _, test := range []struct {
		name                string
		chain, kernel, user []uint64
	}{
		{"nothing", nil, nil, nil},
		{"both", []uint64{ContextKernel, 1, 2, ContextUser, 3}, []uint64{1, 2}, []uint64{3}},
		{"the user part only", []uint64{ContextUser, 3, 4}, nil, []uint64{3, 4}},
		{"a guest between", []uint64{ContextKernel, 1, guest, 9, ContextUser, 3}, []uint64{1}, []uint64{3}},
		{"an empty part", []uint64{ContextKernel, ContextUser, 3}, []uint64{}, []uint64{3}},
		{"markers only", []uint64{ContextUser, ContextUser}, nil, []uint64{}},
		{"no marker first", []uint64{7, ContextUser, 3}, nil, []uint64{3}},
		{"no marker, user addresses", []uint64{7, 8}, nil, []uint64{7, 8}},
		{"no marker before the kernel's", []uint64{1 << 63, 8, ContextUser, 3}, []uint64{1 << 63, 8}, []uint64{3}},
	} {
		kernel, user := Split(test.chain)
		if !slices.Equal(kernel, test.kernel) || !slices.Equal(user, test.user) {
			t.Errorf("%s: %x, %x; want %x, %x", test.name, kernel, user, test.kernel, test.user)
		}
	}
}

func TestKernelCallersLieInTheirCalls(t *testing.T) {
	got := AppendKernel(nil, []uint64{0xffffffff81000010, 0xffffffff81000100})
	want := []Frame{{Object: Kernel, Offset: 0xffffffff81000010}, {Object: Kernel, Return: true, Offset: 0xffffffff810000ff}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if leaf, caller := got[0].PC(), got[1].PC(); leaf != 0xffffffff81000010 || caller != 0xffffffff81000100 {
		t.Errorf("shown as %#x and %#x, not as the kernel has them", leaf, caller)
	}
}
