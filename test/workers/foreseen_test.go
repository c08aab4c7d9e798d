package workers

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

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
	if err := json.Unmarshal([]byte(a.Out), &status); err != nil || a.Status != 0 {
		t.Errorf("%v: %+v", err, a)
	}
	s.plan = status.Processes
}

// byRule is a delivery with its rule, of which later are those of one that was left to others first.
var (
	byRule = regexp.MustCompile(`\bsent SIG\S+ to [^\n]*?\[(\d+)\]: ([^"\n]*)`)
	byCall = regexp.MustCompile(`^(the grace period is nearly over|the kill is near)$`)
	below  = regexp.MustCompile(`^below `)
)

// wantForeseen compares the plan with what then happened. drainit may do otherwise only where the plan says "else", but
// for an orphan, whose turn comes when the process that it was left to has gone, and for one that had ended, of which
// there is no line.
func (s *scene) wantForeseen(t *testing.T, log string) {
	t.Helper()
	rules := make(map[int]string)
	for _, m := range byRule.FindAllStringSubmatch(log, -1) {
		pid, _ := strconv.Atoi(m[1])
		rules[pid] = m[2]
	}
	for _, p := range s.plan {
		rule, sent := rules[p.PID]
		now, open := strings.HasPrefix(p.Stop, "now, ") || strings.Contains(p.Stop, " now, "), strings.Contains(p.Stop, "; else ")
		switch late := byCall.MatchString(rule); {
		case now && sent && !late, !now && !sent:
		case open, !now && !late && !below.MatchString(rule), !sent && !harness.Matches(`not signalled: [^"\n]*\[`+strconv.Itoa(p.PID)+`\]`, log):
			t.Logf("deviation: %s[%d], %q: signalled %t %q", p.Comm, p.PID, p.Stop, sent, rule)
		default:
			t.Errorf("%s[%d], of which the plan says %q: signalled %t %q", p.Comm, p.PID, p.Stop, sent, rule)
		}
	}
}
