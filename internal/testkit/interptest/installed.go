package interptest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Installed returns the paths of the installed interpreters of a language: python, php, perl or ruby. First
// come those of pyenv or rbenv, then those that scripts/install-interpreters unpacked, by release, and last
// the system's. All paths but the last contain the release.
func Installed(language string) []string {
	command := language
	if language == "python" {
		command = "python3"
	}
	home, _ := os.UserHomeDir()
	var found []string
	if env := map[string]string{"python": ".pyenv", "ruby": ".rbenv"}[language]; env != "" {
		found, _ = filepath.Glob(filepath.Join(home, env, "versions/[0-9]*/bin", command))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		unpacked, _ := filepath.Glob(filepath.Join(cache, "ringtap/interpreters", language+"[0-9]*/bin", command))
		slices.SortFunc(unpacked, func(a, b string) int { return compareReleases(Release(a), Release(b)) })
		found = append(found, unpacked...)
	}
	if path, err := exec.LookPath("/usr/bin/" + command); err == nil {
		found = append(found, path)
	}
	return found
}

// Release returns the part of an interpreter's path that names its release, such as python3.10. It means
// nothing for the system's.
func Release(path string) string { return filepath.Base(filepath.Dir(filepath.Dir(path))) }

// HasYJIT reports whether the Ruby at path has the compiler YJIT.
func HasYJIT(path string) bool {
	out, err := exec.Command(path, "--yjit", "--version").Output()
	return err == nil && strings.Contains(string(out), "+YJIT")
}

// compareReleases compares names such as ruby3.10 by their numbers.
func compareReleases(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		n, errN := strconv.Atoi(a)
		m, errM := strconv.Atoi(b)
		if errN != nil || errM != nil {
			return strings.Compare(a, b)
		}
		return cmp.Compare(n, m)
	})
}

// OfEach runs a test with the last two interpreters of Installed, which are usually the newest unpacked one
// and the system's. A thorough run tests all of them.
func OfEach(t *testing.T, language string, test func(t *testing.T, path string)) {
	t.Helper()
	all := Installed(language)
	if len(all) == 0 {
		t.Skip(language + " is not installed")
	}
	for i, path := range all {
		if i+2 < len(all) && !testlimit.IsThorough() {
			continue
		}
		t.Run(Release(path), func(t *testing.T) { test(t, path) })
	}
}
