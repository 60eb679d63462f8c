package helper

import (
	"encoding/gob"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// message is what the child receives after its setup. Either Data or Events is set.
type message struct {
	Data   []byte                // for the visitors that are Receivers
	Events []perfevent.EventAttr // the new events of the session that is followed
}

// Send passes data to every visitor that is a Receiver. It does not wait until they have
// received it; see WaitReceived. It may be called from any goroutine.
func (r *Reader) Send(data []byte) error { return r.send(&message{Data: data}) }

// updateEvents sends the followed session's events to the child if they have changed.
func (r *Reader) updateEvents() error {
	if r.followed == nil {
		return nil
	}
	changes := r.followed.Changes()
	if changes == r.eventChanges {
		return nil
	}
	r.eventChanges = changes
	return r.send(&message{Events: r.followed.Events()})
}

func (r *Reader) send(m *message) error {
	r.child.mu.Lock()
	defer r.child.mu.Unlock()
	if err := r.child.messages.Encode(m); err != nil {
		return fmt.Errorf("tell the near reader: %w", err)
	}
	r.child.sent++
	return nil
}

// receivePoll is how often WaitReceived checks.
const receivePoll = 200 * time.Microsecond

// WaitReceived waits until the visitors have received everything that was sent before the call,
// and reports whether they have. It returns false after timeout, or if the child has ended.
func (r *Reader) WaitReceived(timeout time.Duration) bool {
	tick := time.NewTicker(receivePoll)
	defer tick.Stop()
	sent, _ := r.child.messageCounts()
	for end := time.Now().Add(timeout); ; {
		switch _, received := r.child.messageCounts(); {
		case received >= sent:
			return true
		case time.Now().After(end):
			return false
		}
		select {
		case <-r.child.exited:
			return false
		case <-tick.C:
		}
	}
}

// messageCounts returns how many messages were sent, and how many the child has processed.
func (c *child) messageCounts() (sent, received uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rings != nil {
		received = atomic.LoadUint64(&c.rings[0].received)
	}
	return c.sent, received
}

// relayMessages runs in the child. It passes messages to the visitors until the caller closes
// the pipe or ends.
func relayMessages(in *gob.Decoder, threads []*thread) {
	for {
		var m message
		if in.Decode(&m) != nil {
			return
		}
		for _, t := range threads {
			receiver, ok := t.visitor.(Receiver)
			switch {
			case m.Events != nil && t.session != nil:
				if events, err := newSessionEvents(m.Events); err == nil {
					t.session.newEvents.Store(events)
				}
			case m.Events == nil && ok:
				receiver.Receive(m.Data)
			}
		}
		atomic.AddUint64(&threads[0].shared.received, 1)
	}
}
