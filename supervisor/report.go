package supervisor

import (
	"fmt"
	"time"

	"drainit/internal/logx"
)

// report is the termination message: what the exit status can't say.
type report struct {
	file string // empty: none is written
	text string // empty: nothing to say

	why string // there was a kill
	at  time.Time
}

// killed notes the first kill.
func (r *report) killed(why string, now time.Time) {
	if r.why == "" {
		r.why, r.at = why, now
	}
}

// end completes the message when it is known who was killed, and since when
// they had been asked to end.
func (r *report) end(since time.Time, what, victims string) {
	if r.why != "" && victims != "" {
		r.text = fmt.Sprintf("%s: killed %s %.1fs after %s", r.why, victims, r.at.Sub(since).Seconds(), what)
	}
}

// write writes the message, if the file is there for it and holds none. That one
// which was asked for can't be written is worth a warning.
func (r *report) write(log *logx.Log) {
	err := logx.WriteTerminationLog(r.file, r.text)
	if err != nil && r.file != logx.DefaultTerminationLog {
		log.Warn(fmt.Sprintf("cannot write the termination message to %s: %v", r.file, err))
	}
}
