package test

import (
	"syscall"
	"testing"
)

// threadWays are the starts of a worker whose main thread has ended while others live: the
// kernel calls it a zombie.
var threadWays = []way{
	{name: "`python3 threads.py`, its main thread has ended", programs: []string{"python3"},
		prepare: headless},
	{name: "`python3 threads.py`, its main thread has ended, stopped", programs: []string{"python3"}, begin: stopThreads,
		prepare: headless},
}

// headless prepares a start of testdata/matrix/threads.py.
func headless(t *testing.T, s *scene) []string {
	s.python(t)
	return []string{"python3", testdata(t, "threads.py")}
}

// stopThreads stops the worker when its job has begun.
func stopThreads(t *testing.T, s *scene) {
	t.Helper()
	waitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	worker := s.init.firstChild()
	waitUntil(t, "the main thread has ended", func() bool { return stateOf(worker) == 'Z' })
	if err := syscall.Kill(worker, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
