package cli

import (
	"fmt"
	"time"

	"drainit/forward"
	"drainit/internal/machine"
)

// limit is the worker's own: how long it drains before it gives back the jobs that are not done, which the
// Open Job Spec calls its grace period (section 6). The zero limit is not known.
type limit struct {
	variable, value string
	time.Duration
	err error // why the value can't be read: a warning and no more, since the variable is the worker's
}

// handBack is how long a worker has from its own limit to SIGKILL, to give its jobs back (section 5.3). It
// and the line of the kill fit into both of the protocol's examples: 25 s of 30, and 5 + 80 s of 90.
const handBack = 4 * time.Second

// findLimit finds the worker's limit in its variables, of which the first that is set counts.
func findLimit(environ []string) (l limit) {
	for _, l.variable = range []string{"OJS_SHUTDOWN_GRACE_PERIOD", "OJS_GRACE_PERIOD", "OJS_SHUTDOWN_TIMEOUT"} {
		if l.value, _ = lookup(environ, l.variable); l.value != "" {
			l.Duration, l.err = endless("25s, 25 (seconds) or infinity")(l.value)
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
	o.config.Given = append(o.config.Given, own.variable+"="+own.value)
	o.config.Grace, o.config.Limit = own.Duration, 0
	if o.config.Grace != machine.Forever {
		o.config.Grace += handBack
		o.config.Given = append(o.config.Given, "plus "+handBack.String())
	}
}

// herokuLimit is the time from Heroku's TERM, to every process of a dyno and perhaps several times, to SIGKILL.
const herokuLimit = 30 * time.Second

// adoptHeroku makes the defaults fit Heroku, which sets DYNO in every dyno, and reports whether this is one.
func (o *options) adoptHeroku(environ []string) bool {
	dyno, _ := lookup(environ, "DYNO")
	if dyno != "" {
		o.config.Mode, o.config.SecondStopIgnored, o.config.Grace = forward.ModeNone, true, herokuLimit-5*time.Second
		o.config.Given = append(o.config.Given, "DYNO="+dyno)
	}
	return dyno != ""
}

// warning is what is wrong with the worker's limit, "" for nothing: it can't be read, it was probably meant in
// milliseconds, or the grace period is over too soon after it.
func (o *options) warning(own limit) string {
	switch need := o.config.StopDelay + own.Duration + handBack; {
	case own.err != nil:
		return fmt.Sprintf("%s: %v; the grace period is %v", own.variable, own.err, o.config.Grace)
	case own.Duration != machine.Forever && milliseconds(own.value) != "":
		return own.variable + "=" + own.value + milliseconds(own.value)
	case own.variable != "" && own.Duration != machine.Forever && o.config.Grace < need:
		return fmt.Sprintf("the worker has %v from the stop signal to SIGKILL, less than %v after its own limit, %s=%s, to give its jobs back: write --grace %v, or DRAINIT_GRACE=%v",
			o.config.Grace-o.config.StopDelay, handBack, own.variable, own.value, need, need)
	}
	return ""
}
