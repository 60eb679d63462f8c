package callchain

// Markers in perf's callchains: they say whose addresses follow (enum perf_callchain_context).
const (
	ContextKernel = ^uint64(128 - 1)
	ContextUser   = ^uint64(512 - 1)

	contextMax = ^uint64(4095 - 1) // all values from here on are markers
)

// Split cuts a sample's callchain (PERF_SAMPLE_CALLCHAIN) at its markers into the kernel part
// and the user part. Both are leaf first and without markers. Addresses of guests and of
// unknown contexts are left out. The results are slices of chain; nothing is copied.
//
// Recordings may have chains that begin without a marker. Their first addresses are the kernel's
// if they are in the upper half of the address space, as on all 64-bit machines.
func Split(chain []uint64) (kernel, user []uint64) {
	i := 0
	for ; i < len(chain) && chain[i] < contextMax; i++ {
	}
	if i > 0 && chain[0] >= 1<<63 {
		kernel = chain[:i]
	} else {
		user = chain[:i]
	}
	for i < len(chain) {
		marker := chain[i]
		begin := i + 1
		for i = begin; i < len(chain) && chain[i] < contextMax; i++ {
		}
		switch marker {
		case ContextKernel:
			kernel = chain[begin:i]
		case ContextUser:
			user = chain[begin:i]
		}
	}
	return kernel, user
}

// AppendKernel appends the frames of the kernel part of a callchain to dst.
func AppendKernel(dst []Frame, kernel []uint64) []Frame {
	for i, addr := range kernel {
		if i > 0 {
			addr--
		}
		dst = append(dst, Frame{Object: Kernel, Return: i > 0, Offset: addr})
	}
	return dst
}
