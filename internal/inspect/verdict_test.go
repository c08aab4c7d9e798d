package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/proc"
	"drainit/internal/worker"
	"drainit/reaper"
	"drainit/supervisor"
)

// Each verdict follows from the plan, and from what drainit has sent, killed and waited for.
func TestVerdict(t *testing.T) { synctest.Test(t, testVerdict) } // which waits between two looks

func testVerdict(t *testing.T) {
	node, bare, sh, job := below("node", 10, 1, unix.SIGTERM), below("node", 10, 1), below("bash", 10, 1, unix.SIGTERM), below("job", 11, 10, unix.SIGTERM)
	sent := func(p proc.Process, after time.Duration, late bool) supervisor.Sent {
		return supervisor.Sent{Delivery: forward.Delivery{Signal: unix.SIGTERM, Late: late}, To: p.ID, After: after}
	}
	ended := func(pid, status int) supervisor.Ended {
		return supervisor.Ended{WaitEvent: reaper.WaitEvent{PID: pid, Status: unix.WaitStatus(status << 8)}, After: time.Second}
	}
	inTime := []supervisor.Sent{sent(node, 0, false)}
	for name, tt := range map[string]struct {
		below  []proc.Process
		remap  []int
		record supervisor.Record
		status int // of the worker
		allow  bool
		check  int // its status, -1 for none
		took   time.Duration
		want   string
	}{
		"all have ended":                 {[]proc.Process{node}, nil, supervisor.Record{Sent: inTime, Ended: []supervisor.Ended{ended(10, 0)}}, 0, false, -1, 0, "drains 0:"},
		"it has ended with 143":          {[]proc.Process{node}, nil, supervisor.Record{Sent: inTime}, 143, false, -1, 0, "drains 0:"},
		"it has failed":                  {[]proc.Process{node}, nil, supervisor.Record{Sent: inTime}, 4, false, -1, 0, "loses_work 1: node[10] exited with status 4"},
		"as it may":                      {[]proc.Process{node}, []int{4}, supervisor.Record{Sent: inTime}, 0, false, -1, 0, "drains 0:"},
		"it was killed":                  {[]proc.Process{node}, nil, supervisor.Record{}, 137, false, -1, 0, "loses_work 1: node[10] was killed at the end of the grace period: a longer --grace"},
		"it has no handler, and was":     {[]proc.Process{bare}, nil, supervisor.Record{}, 137, false, -1, 0, "loses_work 1: node[10] was killed at the end of the grace period: a handler"},
		"it has died of it":              {[]proc.Process{bare}, nil, supervisor.Record{Lacking: []diag.Lacking{{Process: bare, Certain: true}}}, 143, false, -1, 0, "loses_work 1: node[10] has no SIGTERM handler and died of it"},
		"as it may, too":                 {[]proc.Process{bare}, []int{143}, supervisor.Record{Lacking: []diag.Lacking{{Process: bare, Certain: true}}}, 0, false, -1, 0, "drains 0:"},
		"it may have died of it":         {[]proc.Process{node}, nil, supervisor.Record{Lacking: []diag.Lacking{{Process: node}}}, 143, false, -1, 0, "not_certain 1: node[10] died of SIGTERM at once"},
		"which is allowed":               {[]proc.Process{node}, nil, supervisor.Record{Lacking: []diag.Lacking{{Process: node}}}, 143, true, -1, 0, "not_certain 0: node[10] died"},
		"no process handles it":          {[]proc.Process{below("sh", 10, 1)}, nil, supervisor.Record{}, 143, false, -1, 0, "loses_work 1: node[10] has no SIGTERM handler, nor has any process below it"},
		"one was late":                   {[]proc.Process{sh, job}, nil, supervisor.Record{Sent: []supervisor.Sent{sent(job, 15*time.Second, true)}}, 0, false, -1, 0, "not_certain 1: job[11] was signalled only 15.0s after the stop signal, of the 20s to SIGKILL"},
		"one would be late":              {[]proc.Process{sh, job}, nil, supervisor.Record{Sent: []supervisor.Sent{sent(job, 0, false)}}, 0, false, -1, 0, "not_certain 1: job[11] may be signalled only 5s before SIGKILL, if it is busy then"},
		"what is lost goes before":       {[]proc.Process{sh, job}, nil, supervisor.Record{Sent: []supervisor.Sent{sent(job, 15*time.Second, true)}}, 137, true, -1, 0, "loses_work 1: bash[10] was killed"},
		"the check says that it drains":  {[]proc.Process{bare}, nil, supervisor.Record{Lacking: []diag.Lacking{{Process: bare, Certain: true}}}, 143, false, 0, 0, "drains 0: node[10] has no"},
		"the check says that it is lost": {[]proc.Process{node}, nil, supervisor.Record{Sent: inTime}, 0, true, 3, 0, "loses_work 1: --check exited with status 3"},
		"it takes longer than Docker":    {[]proc.Process{node}, nil, supervisor.Record{Sent: inTime}, 0, false, -1, 11 * time.Second, "drains 0: docker stop (10s)"},
		"than Kubernetes":                {[]proc.Process{node}, nil, supervisor.Record{Sent: inTime}, 0, false, -1, 31 * time.Second, "drains 0: docker stop (10s), Kubernetes (30s)"},
	} {
		tt.below = slices.Clone(tt.below)
		for i := range tt.below {
			if tt.below[i].PPID == 1 {
				tt.below[i].PPID = unix.Getpid()
			}
		}
		cfg := supervisor.Config{Grace: 20 * time.Second, RemapExit: tt.remap, Record: &tt.record}
		plan, _ := planned(cfg, proc.New(tt.below))
		plan.addRecord(&tt.record)
		var killed worker.Kill
		if tt.status == 137 {
			killed.Victims = []*proc.Process{&tt.below[0]}
		}
		exit := &worker.Exit{WaitEvent: reaper.WaitEvent{Status: unix.WaitStatus(tt.status << 8)}}
		v := plan.judge(cfg, supervisor.Outcome{Status: tt.status, Worker: worker.Worker{PID: 10, Comm: "node", Exit: exit, Kill: killed}})
		if v.took(tt.took); tt.check >= 0 {
			v.checked(tt.check)
		}
		v.conclude(tt.allow)
		got := fmt.Sprintf("%s %d:", v.Verdict, v.Status)
		for _, r := range v.Reasons {
			got += " " + r.String()
		}
		if len(v.Shorter) > 0 {
			got += " " + strings.Join(v.Shorter, ", ")
		}
		if !strings.HasPrefix(got, tt.want) || strings.HasSuffix(tt.want, ":") && got != tt.want {
			t.Errorf("%s: %s, want %s\n%s", name, got, tt.want, v.text())
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{"": "", "a b": "a b", "abc def": "abc|def", "abcdefgh i": "abcdefgh|i", "ab cd efg": "ab cd|efg"} {
		if got := strings.Join(wrap(text, 5), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
