package inspect

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"drainit/internal/logx"
	"drainit/internal/phase"
)

// text is the status for people.
func (d instance) text() string {
	var b strings.Builder
	ended := ""
	if !d.workerAlive() {
		ended = "the worker has ended, "
	}
	fmt.Fprintf(&b, "%s: %s, %s%s below it\n", d.phase(), d.label(), ended, logx.Processes(len(d.descendants)))
	if len(d.descendants) > 0 {
		fmt.Fprintf(&b, "%7s %7s STATE %8s COMMAND\n", "PID", "PPID", "AGE")
	}
	for _, p := range d.descendants {
		fmt.Fprintf(&b, "%7d %7d %-5c %8s %s\n", p.PID, p.PPID, p.State, logx.Round(p.Age()), logx.Printable(p.Comm))
	}
	return b.String()
}

// statusJSON is the status for programs, in one line.
type statusJSON struct {
	Phase       string        `json:"phase"` // running, quiet, draining or killing
	Ready       bool          `json:"ready"` // running
	WorkerAlive bool          `json:"worker_alive"`
	PID         int           `json:"pid"` // drainit's
	Processes   []processJSON `json:"processes"`
}

type processJSON struct {
	PID   int     `json:"pid"`
	PPID  int     `json:"ppid"`
	Comm  string  `json:"comm"`  // what is not printable is escaped, as in the log
	State string  `json:"state"` // a letter of proc(5)
	Age   float64 `json:"age_s"`
}

func (d instance) json() string {
	s := statusJSON{d.phase().String(), d.phase() == phase.Running, d.workerAlive(), d.PID, []processJSON{}}
	for _, p := range d.descendants {
		age := math.Round(p.Age().Seconds()*10) / 10
		s.Processes = append(s.Processes, processJSON{p.PID, p.PPID, logx.Printable(p.Comm), string(p.State), age})
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return string(b) + "\n"
}
