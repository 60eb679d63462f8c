package perfevent

import perf "github.com/elastic/go-perf"

// Cache is one of the CPU's caches (enum perf_hw_cache_id).
type Cache uint64

// The caches.
const (
	CacheL1D    = Cache(perf.L1D)
	CacheL1I    = Cache(perf.L1I)
	CacheLL     = Cache(perf.LL) // the last level
	CacheDTLB   = Cache(perf.DTLB)
	CacheITLB   = Cache(perf.ITLB)
	CacheBranch = Cache(perf.BPU)
	CacheNode   = Cache(perf.NODE) // memory of another NUMA node
)

// CacheOp is what was done to a cache (enum perf_hw_cache_op_id).
type CacheOp uint64

// The operations on a cache.
const (
	CacheLoad     = CacheOp(perf.Read)
	CacheStore    = CacheOp(perf.Write)
	CachePrefetch = CacheOp(perf.Prefetch)
)

// HardwareCache returns the event that counts one operation on one cache:
// every access, or with misses only those that the cache could not serve.
func HardwareCache(c Cache, op CacheOp, misses bool) Event {
	result := perf.Access
	if misses {
		result = perf.Miss
	}
	counter := perf.HardwareCacheCounter{Cache: perf.Cache(c), Op: perf.CacheOp(op), Result: result}
	return event(counter, c.name()+"-"+op.name(misses))
}

func (c Cache) name() string {
	names := [...]string{"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"}
	if c < Cache(len(names)) {
		return names[c]
	}
	return "cache"
}

func (op CacheOp) name(misses bool) string {
	names := [...]string{"load", "store", "prefetch"}
	singular := "access"
	if op < CacheOp(len(names)) {
		singular = names[op]
	}
	if misses {
		return singular + "-misses"
	}
	return singular + "s"
}
