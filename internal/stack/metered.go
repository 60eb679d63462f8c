package stack

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/interp"
)

// metered is memory of which so much may be read in a time, so that a process whose
// structures mislead does not take more of this program than its samples are worth. What
// is refused is as if it could not be read.
type metered struct {
	mem     interp.Memory
	mu      sync.Mutex // of what follows
	left    int        // reads of a page or less
	full    time.Time
	refused *atomic.Bool // is set when a read is refused; many may share it
	tell    bool         // one was refused, and errRefused has not said so
	told    bool         // it has
}

const (
	readsAtOnce  = 1 << 18
	readsASecond = 1 << 18
	readSize     = 4096
)

// Read is of interp.Memory.
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

// refill grants what has become due since the last time.
func (m *metered) refill(now time.Time) {
	due := now.Sub(m.full).Seconds() * readsASecond
	m.left = min(readsAtOnce, m.left+int(max(0, min(due, readsAtOnce))))
	m.full = now
}

// errRefused says, once, that reads were refused; nil: none was until now.
func (m *metered) errRefused() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.tell {
		return nil
	}
	m.tell, m.told = false, true
	return fmt.Errorf("more than %d reads a second of the runtime's memory were needed, which is the limit: functions may have no name; fewer samples need fewer reads", readsASecond)
}
