package supervisor

import (
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/internal/title"
	"drainit/reaper"
)

// Pause waits for TERM or INT and reaps every orphan meanwhile, without a worker: what the
// first container of a pod does, which only holds the pod's namespaces. The title is no
// phase: the verbs ask the drainits of the other containers.
func Pause(queue *sigqueue.Queue) error {
	stops := []unix.Signal{unix.SIGTERM, unix.SIGINT}
	queue.WaitForStops(stops, nil, machine.SameRequest)
	queue.WaitForEarly() // behind the title a QUIT or HUP no longer ends it
	spawn.KeepSmall()
	title.Set(title.Pause)
	if _, ok := queue.TakeEarly(stops); ok {
		return nil
	}
	spawn.OpenTimers()
	spawn.WarmRuntime() // the process table may be full later
	if err := reaper.BecomeSubreaper(); err != nil {
		return err
	}
	queue.Pump()
	queue.SleepOnThread()
	for {
		news := queue.News()
		if len(queue.Stops) > 0 {
			return nil
		}
		reapAll()
		for _, ok := queue.Take(); ok; _, ok = queue.Take() { // it means nothing to it
		}
		queue.Sleep(news, time.Time{}, false)
	}
}

// reapAll waits for every child that has ended.
func reapAll() {
	for {
		if _, ok, err := reaper.Wait(); err != nil || !ok {
			return // without a child, until the next SIGCHLD
		}
	}
}
