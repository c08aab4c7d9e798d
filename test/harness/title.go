package harness

import "testing"

// WaitTitle waits until the init shows a title.
func (p *Init) WaitTitle(title string) { p.T.Helper(); WaitTitle(p.T, p.Pid(), title) }

// WantTitle compares the init's title.
func (p *Init) WantTitle(title string) { p.T.Helper(); wantTitle(p.T, p.Pid(), title) }

// WaitTitle waits until a drainit shows a title.
func WaitTitle(t *testing.T, pid int, title string) {
	t.Helper()
	WaitUntil(t, "the title is "+title, func() bool { return Comm(pid) == title })
}

func wantTitle(t *testing.T, pid int, title string) {
	t.Helper()
	if got := Comm(pid); got != title {
		t.Errorf("the title is %q, want %q", got, title)
	}
}

// WaitReady waits until the worker has said so and drainit takes every signal.
func (p *Init) WaitReady() {
	p.T.Helper()
	p.WaitOut(`^ready`)
	p.WaitTitle("drainit:run")
}
