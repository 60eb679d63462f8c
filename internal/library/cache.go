package library

import "errors"

// CacheEntry is one library of ld.so.cache.
type CacheEntry struct {
	Soname string
	Path   string
	Flags  int32 // FLAG_* of glibc's ldconfig.h
	Hwcap  uint64
}

// ReadCache reads the bytes of an ld.so.cache.
func ReadCache(b []byte) ([]CacheEntry, error) {
	return nil, errors.New("library.ReadCache: not yet")
}
