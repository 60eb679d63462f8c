package stack

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// metered is memory with a limit on reads per second. So a process with misleading structures
// cannot take more of ringtap's time than its samples are worth. Reads beyond the limit fail.
type metered struct {
	mem     interp.Memory
	mu      sync.Mutex // protects the fields below
	left    int        // reads that are still allowed; a longer read counts as one per page
	full    time.Time
	refused *atomic.Bool // set when a read is refused; several metered may share it
	tell    bool         // a read was refused, and errRefused has not reported that yet
	told    bool         // errRefused has reported it
}

const (
	readsAtOnce  = 1 << 18
	readsASecond = 1 << 18
	readSize     = 4096
)

// Read implements interp.Memory.
func (m *metered) Read(addr uint64, b []byte) bool {
	return m.grants(1+len(b)/readSize) && m.mem.Read(addr, b)
}

func (m *metered) grants(cost int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left < cost {
		m.refill(time.Now())
		if m.left < cost {
			m.refuse()
			return false
		}
	}
	m.left -= cost
	return true
}

func (m *metered) refuse() {
	if !m.told {
		m.tell = true
		m.refused.Store(true)
	}
}

// refill adds the reads that are allowed since the last call.
func (m *metered) refill(now time.Time) {
	due := now.Sub(m.full).Seconds() * readsASecond
	m.left = min(readsAtOnce, m.left+int(max(0, min(due, readsAtOnce))))
	m.full = now
}

// errRefused returns an error if reads were refused. It does so only once.
func (m *metered) errRefused() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.tell {
		return nil
	}
	m.tell, m.told = false, true
	return fmt.Errorf("more than %d reads a second of the runtime's memory were needed, which is the limit: functions may have no name; fewer samples need fewer reads", readsASecond)
}
