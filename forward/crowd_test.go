package forward

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// crowdPlan is a plan for a worker that dies of the signal and many children in its group,
// changed by a test, with the snapshot that it goes by.
type crowdPlan struct {
	plan   []Delivery
	shown  []proc.Process
	worker Worker
}

func newCrowd(children int) *crowdPlan {
	const worker, first = 10, 11
	c := &crowdPlan{worker: Worker{PID: worker, PGID: worker}}
	for i := range children + 1 {
		p := kindly("app", first+i-1, worker)
		if i == 0 {
			p = kindly("dies", worker, drainitPID)
		}
		d := Delivery{Process: p, Signal: unix.SIGTERM, Stop: true, Child: i == 0}
		if i > 0 {
			d.Parent, d.Rule = c.shown[0].ID, "below"
		}
		c.shown, c.plan = append(c.shown, p), append(c.plan, d)
	}
	return c
}

// last is the last process, in both.
func (c *crowdPlan) last(change func(p *proc.Process)) {
	n := len(c.plan) - 1
	change(&c.plan[n].Process)
	change(&c.shown[n])
}

// One call takes the place of many where it reaches the same processes with the same signal,
// and in no other case.
func TestOneDeliveryForACrowd(t *testing.T) {
	for _, tt := range []struct {
		name     string
		children int
		change   func(c *crowdPlan)
		members  int // 0: one by one
		others   int
	}{
		{"a worker and its children", crowd, nil, crowd, 0},
		{"too few", crowd - 1, nil, 0, 0},
		{"very many", 1000, nil, 1000, 0},
		{"a member of the group that is not to be signalled", crowd, func(c *crowdPlan) {
			c.shown = append(c.shown, kindly("app", 500, 11))
		}, 0, 0},
		{"one that has ended", crowd, func(c *crowdPlan) {
			dead := kindly("app", 500, 11)
			dead.State = 'Z'
			c.shown = append(c.shown, dead)
		}, crowd, 0},
		{"a stranger of another group", crowd, func(c *crowdPlan) {
			stranger := kindly("app", 500, 1)
			stranger.PGID = 500
			c.shown = append(c.shown, stranger)
		}, crowd, 0},
		{"one that has a group of its own", crowd + 1, func(c *crowdPlan) {
			c.last(func(p *proc.Process) { p.PGID = p.PID })
		}, crowd, 1},
		{"too few in the worker's group", crowd, func(c *crowdPlan) {
			c.last(func(p *proc.Process) { p.PGID = p.PID })
		}, 0, 0},
		{"one that is sent another signal", crowd, func(c *crowdPlan) { c.plan[crowd].Signal = unix.SIGINT }, 0, 0},
		{"one whose parent is to end before, and is not the worker", crowd, func(c *crowdPlan) { c.plan[crowd].Parent = c.shown[1].ID }, 0, 0},
		{"one that need not wait for the worker's end", crowd, func(c *crowdPlan) { c.plan[crowd].Parent = proc.ID{} }, crowd, 0},
		{"the worker has gone", crowd, func(c *crowdPlan) { c.worker.Gone = true }, 0, 0},
		{"a worker that does not lead the group", crowd, func(c *crowdPlan) { c.worker.PGID = 9 }, 0, 0},
		{"a plan that does not begin with the worker", crowd, func(c *crowdPlan) { c.plan = c.plan[1:] }, 0, 0},
		{"a plan that goes to the group as it is", crowd, func(c *crowdPlan) { c.plan[0].Target = ToGroup }, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCrowd(tt.children)
			if tt.change != nil {
				tt.change(c)
			}
			all := AsCrowd(c.plan, proc.New(slices.Clone(c.shown)), c.worker)
			if tt.members == 0 {
				if all != nil {
					t.Errorf("%d deliveries, want them one by one", len(all))
				}
				return
			}
			if len(all) != tt.others+1 {
				t.Fatalf("%d deliveries, want %d", len(all), tt.others+1)
			}
			group := all[tt.others]
			if group.Target != ToGroup || group.PGID != c.worker.PID || group.Signal != unix.SIGTERM || !group.Stop || group.Child || group.Rule != "below" {
				t.Errorf("it is %+v", group)
			}
			if len(group.Members) != tt.members {
				t.Errorf("it goes to %d, want %d", len(group.Members), tt.members)
			}
			if slices.ContainsFunc(group.Members, func(p proc.Process) bool { return p.PID == c.worker.PID }) {
				t.Error("it goes to the worker, too")
			}
		})
	}
}
