package rollout

import (
	"errors"
	"fmt"
	"strings"
)

// table shows the rows in Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| mode | init | jobs | done | interrupted | never done | effect twice | a rollout: " +
		"ready, old gone | exit codes |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %.0f s, %.0f s | %s |\n",
			r.mode.name, r.init.name,
			r.jobs, r.done, r.interrupted, r.neverDone(), r.twice, r.ready.Seconds(),
			r.gone.Seconds(), r.codes)
	}
	return b.String()
}

// verdict is an error where drainit has lost a job, or nothing was tried.
func verdict(rows []row) error {
	for _, r := range rows {
		if strings.HasPrefix(r.init.name, "drainit") && (r.interrupted > 0 || r.neverDone() > 0) {
			return fmt.Errorf("%s, %s: %d jobs interrupted, %d never done", r.init.name, r.mode.name,
				r.interrupted, r.neverDone())
		}
	}
	if len(rows) == 0 {
		return errors.New("no init or no mode has such a name")
	}
	return nil
}
