package interptest

import (
	"os"
	"path/filepath"
)

// Javas returns the paths of the OpenJDKs that scripts/install-java has unpacked, by release.
func Javas() map[string]string {
	all := make(map[string]string)
	if cache, err := os.UserCacheDir(); err == nil {
		found, _ := filepath.Glob(filepath.Join(cache, "ringtap/javas/*/bin/java"))
		for _, path := range found {
			all[filepath.Base(filepath.Dir(filepath.Dir(path)))] = path
		}
	}
	return all
}
