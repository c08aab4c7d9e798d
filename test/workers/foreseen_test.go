package workers

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"drainit/test/harness"
)

// planned is what drainit's plan says of a process.
type planned struct {
	PID  int    `json:"pid"`
	Comm string `json:"comm"`
	Stop string `json:"stop"`
}

// foresee has drainit's plan, for which root enters its container.
func (s *scene) foresee(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	var status struct {
		Processes []planned `json:"processes"`
	}
	a := s.init.Ask("status", "--plan", "--json")
	err := json.Unmarshal([]byte(a.Out), &status)
	ended := func() bool { return !s.init.Running() } // its namespace ends with it, and the plan in that
	if (err != nil || a.Status != 0) && !harness.Within(time.Second, ended) {
		t.Errorf("%v: %+v", err, a)
	}
	s.plan = status.Processes
}

// byRule is a delivery with its rule, of which late are those of the calls.
var (
	byRule = regexp.MustCompile(`\bsent SIG\S+ to [^\n]*?\[(\d+)\]: ([^"\n]*)`)
	late   = regexp.MustCompile(`^(the grace period is nearly over|the kill is near)$`)
)

// What the plan's words promise: a signal at once, at once if another has gone, or at the latest in a call.
var (
	nowWords    = regexp.MustCompile(`\bnow: `)
	asleepWords = regexp.MustCompile(`\bnow, if asleep `)
	turnWords   = regexp.MustCompile(
		`at once if that ends|waits until .* has (ended|gone)|not while .* lives|waits for the processes`)
	latestWords = regexp.MustCompile(`at the latest|else never`)
)

// wantForeseen compares the plan with what then happened: each signal, and each that was not sent, is one
// that its words allow. Of a process that ended before its turn there is no line.
func (s *scene) wantForeseen(t *testing.T, log string) {
	t.Helper()
	rules := make(map[int]string)
	for _, m := range byRule.FindAllStringSubmatch(log, -1) {
		pid, _ := strconv.Atoi(m[1])
		rules[pid] = m[2]
	}
	for _, p := range s.plan {
		rule, sent := rules[p.PID]
		says := func(words *regexp.Regexp) bool { return words.MatchString(p.Stop) }
		undecided := harness.Matches(`not signalled: [^"\n]*\[`+strconv.Itoa(p.PID)+`\]`, log)
		betweenCommands := p.Comm == "sleep" &&
			harness.Matches(`\[`+strconv.Itoa(p.PID)+`\]: [^"\n]*it would only die of the signal`, log)
		var allowed bool
		switch {
		case !sent:
			allowed = !says(nowWords) || !undecided || betweenCommands
		case late.MatchString(rule):
			allowed = says(latestWords)
		case rule == "the worker":
			allowed = says(nowWords)
		default:
			allowed = says(nowWords) || says(asleepWords) || says(turnWords)
		}
		if !allowed {
			t.Errorf("%s[%d], of which the plan says %q: signalled %t %q", p.Comm, p.PID, p.Stop, sent, rule)
		}
	}
}
