package rehearse

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/inspect"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/harness/rows"
)

const term = unix.SIGTERM

// logged is a line of the log about a process.
func logged(event, words string, pid int, comm, fields string, at time.Time) line {
	const form = `{"level":"warn","logger":"drainit","msg":%q,"event":"%s","pid":%d,"comm":"%s"%s}`
	return line{fmt.Sprintf(form, words, event, pid, comm, fields), at}
}

// judged is the verdict on a stop with such lines and settings.
func judged(lines, settings string, took time.Duration) (v verdict, s *stop) {
	s = &stop{plan: &inspect.Plan{Stop: term, QuietSignal: "SIGTSTP"}, stopped: time.Now()}
	s.rows = []*inspect.Row{{PID: 10, Comm: "node", OnStop: proc.Handles}, {PID: 11, Comm: "job"}}
	end := s.stopped.Add(took)
	var log []line
	for text := range strings.SplitSeq(lines, "; ") {
		what, value, _ := strings.Cut(text, " ")
		switch what {
		case "loses":
			log = append(log, logged("x", text, 11, "job", `,"loses":"`+value+`"`, end))
		case "sent":
			log = append(log, logged("signal_sent", text, 11, "job", `,"signal":"`+value+`"`, end))
		case "child":
			log = append(log, logged("child_ended", text, 11, "job", `,"status":`+value, end))
		default:
			v.Worker, _ = strconv.Atoi(value)
			log = append(log, logged("ended", text, 10, "node", "", end))
		}
	}
	var flags Flags
	var failed error
	for setting := range strings.SplitSeq(settings, ", ") {
		what, value, _ := strings.Cut(setting, " ")
		switch n, _ := strconv.Atoi(value); what {
		case "check":
			if flags.Check = "x"; value == "fails" {
				failed = errors.New("--check exited with status 3")
			}
		case "during":
			flags.During = "x"
		case "remap":
			s.cfg.RemapExit = []int{n}
		case "idle":
			for _, p := range s.rows {
				p.OnStop, p.Process.Comm = proc.Dies, "sleep"
			}
		case "unsettled":
			s.unsettled = true
		}
	}
	s.judge(&v, flags, log, log[len(log)-1], failed)
	return v, s
}

// Each verdict follows from the lines that the stop has logged, from the worker's status, and from --check.
func TestVerdict(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/verdicts.tsv", 4) {
		v, _ := judged(row[1], row[2], time.Second)
		got, want := fmt.Sprintf("%s %d", v.Verdict, v.Status), row[3]
		for _, r := range v.Reasons {
			got += "; " + r.Why
			if r.PID != 0 {
				got = strings.TrimSuffix(got, r.Why) + fmt.Sprintf("%s[%d] %s", r.Comm, r.PID, r.Why)
			}
		}
		if !strings.HasPrefix(got, want) || !strings.Contains(want, ";") && got != want {
			t.Errorf("%s: %s, want %s", row[0], got, want)
		}
	}
}

// A process has the first stop signal that it was sent in the stop, and how it ended.
func TestWhatHappened(t *testing.T) {
	for lines, want := range map[string]string{
		"ended 0":                                    "- 2.0s",
		"sent SIGTERM; sent SIGINT; ended 0":         "TERM 2.0s 2.0s",
		"sent SIGTSTP; sent SIGTERM; ended 0":        "TERM 2.0s 2.0s",
		"child 143; ended 0":                         "- 2.0s status 143",
		`child 143,"signal":"SIGTERM"; ended 0`:      "- 2.0s SIGTERM",
		`sent SIGTERM; child 3,"status":4; ended 0`:  "TERM 2.0s 2.0s status 3",
		`sent x\",\"signal\":\"SIGTERM; ended 0`:     `x","signal":"SIGTERM 2.0s 2.0s`,
		`sent x\\; sent SIGTERM; child 0; ended 143`: `x\ 2.0s 2.0s status 0`,
	} {
		_, s := judged(lines, "", 2*time.Second)
		if sent, ended := happened(s.rows[1]); sent+" "+ended != want {
			t.Errorf("%s: %s %s, want %s", lines, sent, ended, want)
		}
	}
	_, s := judged("sent SIGTERM; ended 0", "", -time.Second)
	if s.rows[1].Sent != "" {
		t.Error("a signal from before the stop counts")
	}
}

// A stop that takes longer than a platform waits by default says so.
func TestShorter(t *testing.T) {
	for took, want := range map[time.Duration]string{
		10 * time.Second: "10.0s\n",
		11 * time.Second: "11.0s, longer than these wait by default: docker stop (10s)\n",
		31 * time.Second: "31.0s, longer than these wait by default: docker stop (10s), Kubernetes (30s)\n",
	} {
		v, _ := judged("ended 0", "", took)
		var text strings.Builder
		if err := v.print(&text, false); err != nil ||
			!strings.HasSuffix(text.String(), "signals arrive: the stop took "+want) {
			t.Errorf("%v: %s, %v", took, &text, err)
		}
	}
}

func TestAsJSON(t *testing.T) {
	v, _ := judged("sent SIGTERM; child 3; ended 3", "", time.Second/2)
	b, err := json.Marshal(v)
	const head = `{"verdict":"loses_work","status":1,` +
		`"reasons":[{"pid":10,"comm":"node","why":"ended 3","loses":true}],"took_s":0.5,"worker_status":3,`
	const tail = `"sent":"SIGTERM","sent_after_s":0.5,"ended_after_s":0.5,"exit_status":3}]}`
	if text := string(b); err != nil || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
		t.Errorf("%s, %v", b, err)
	}
}

// A handler that the last of many processes sets is a change that a rehearsal waits for.
func TestStateOfManyProcesses(t *testing.T) {
	var all []*proc.Process
	for pid := range 12 {
		all = append(all, &proc.Process{ID: proc.ID{PID: 10 + pid}, Comm: "node"})
	}
	before := stateOf(all)
	all[11].Handled = signals.SetOf(term)
	if stateOf(all) == before {
		t.Error("a new handler of the twelfth process is no change")
	}
}
