package cli

import (
	"fmt"
	"time"

	"drainit/internal/machine"
)

// limit is how long the worker drains, by its own settings, before it gives back the jobs that are not done.
// The Open Job Spec calls this its grace period (section 6). A zero limit means that it is not known.
type limit struct {
	variable, value string
	time.Duration
	err error // why the value can't be read: a warning and no more, since the variable is the worker's
}

// handBack is how long a worker has to give its jobs back, from the end of its own limit to SIGKILL. Both
// examples in section 5.3 of the Open Job Spec leave 5 s (25 s of 30, and 5 + 80 s of 90): time for this, and
// for the line that says what was killed.
const handBack = 4 * time.Second

// findLimit finds the worker's limit in its variables, of which the first that is set counts.
func findLimit(environ []string) (l limit) {
	names := []string{"OJS_SHUTDOWN_GRACE_PERIOD", "OJS_GRACE_PERIOD", "OJS_SHUTDOWN_TIMEOUT"}
	for _, l.variable = range names {
		if l.value, _ = lookup(environ, l.variable); l.value != "" {
			l.Duration, l.err = duration("25s, 25 (seconds) or infinity")(l.value)
			return l
		}
	}
	return limit{}
}

// adopt makes the grace period fit the worker's limit, where it is known.
func (o *options) adopt(own limit) {
	if own.variable == "" || own.err != nil {
		return
	}
	o.given(own.variable + "=" + own.value)
	o.Grace, o.Limit = own.Duration, 0
	if o.Grace != machine.Forever {
		o.Grace += handBack
		o.given("plus " + handBack.String())
	}
}

// warning returns what is wrong with the worker's limit, "" for nothing. Either it can't be read, or it was
// probably meant in milliseconds, or the grace period is over too soon after it.
func (o *options) warning(own limit) string {
	switch need := o.StopDelay + own.Duration + handBack; {
	case own.err != nil:
		return fmt.Sprintf("%s: %v; the grace period is %v", own.variable, own.err, o.Grace)
	case own.Duration != machine.Forever && milliseconds(own.value) != "":
		return own.variable + "=" + own.value + milliseconds(own.value)
	case own.variable != "" && own.Duration != machine.Forever && o.Grace < need:
		const words = "the worker has %v from the stop signal to SIGKILL, less than %v after its own limit, "
		const advice = "%s=%s, to give its jobs back: write --grace %v, or DRAINIT_GRACE=%v"
		left := o.Grace - o.StopDelay
		return fmt.Sprintf(words+advice, left, handBack, own.variable, own.value, need, need)
	}
	return ""
}
