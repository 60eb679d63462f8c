package report

import (
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/hermetic"
)

func TestMain(m *testing.M) {
	hermetic.Set()
	os.Exit(m.Run())
}
