package sigqueue

import "time"

// Wake ends the loop's sleep, or the next one at once. It must be called after whatever the
// loop is to find.
func (q *Queue) Wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// Sleep returns when Wake was called since it last returned or, where that is limited, at a time.
func (q *Queue) Sleep(until time.Time, limited bool) {
	var over <-chan time.Time
	if limited {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-q.woken:
	case <-over:
	}
}
