package callchain

// Markers of perf's callchains: they announce whose addresses follow
// (enum perf_callchain_context). All values from contextMax on are markers.
const (
	contextKernel = ^uint64(128 - 1)
	contextUser   = ^uint64(512 - 1)
	contextMax    = ^uint64(4095 - 1)
)

// Split cuts a sample's callchain (PERF_SAMPLE_CALLCHAIN) at its markers into
// the part of the kernel and the part of the user program, both leaf first and
// without markers. Addresses of guests and of contexts unknown are left out.
// The results are parts of chain; nothing is copied.
func Split(chain []uint64) (kernel, user []uint64) {
	for i := 0; i < len(chain); {
		marker := chain[i]
		begin := i + 1
		for i = begin; i < len(chain) && chain[i] < contextMax; i++ {
		}
		switch marker {
		case contextKernel:
			kernel = chain[begin:i]
		case contextUser:
			user = chain[begin:i]
		}
	}
	return kernel, user
}

// AppendKernel appends the frames of the kernel's part of a callchain to dst.
func AppendKernel(dst []Frame, kernel []uint64) []Frame {
	for i, addr := range kernel {
		if i > 0 {
			addr--
		}
		dst = append(dst, Frame{Object: Kernel, Return: i > 0, Offset: addr})
	}
	return dst
}
