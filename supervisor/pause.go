package supervisor

import (
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/internal/title"
	"drainit/reaper"
)

// Pause waits for TERM or INT and reaps every orphan meanwhile, without a worker: what the
// first container of a pod does, which only holds the pod's namespaces. The title is no
// phase: the verbs ask the drainits of the other containers.
func Pause(queue *sigqueue.Queue) error {
	if err := spawn.SetUp(); err != nil {
		return err
	}
	queue.Subscribe([]unix.Signal{unix.SIGTERM, unix.SIGINT}, nil)
	title.Set(title.Pause)
	if err := reaper.BecomeSubreaper(); err != nil {
		return err
	}
	queue.SubscribeRest()
	spawn.Settle()
	for !queue.StopPending() {
		for reaped, err := true, error(nil); reaped && err == nil; { // without a child, until the next SIGCHLD
			_, reaped, err = reaper.Wait()
		}
		for _, ok := queue.Take(0); ok; _, ok = queue.Take(0) { // it means nothing to it
		}
		queue.Sleep(time.Time{}, false)
	}
	return nil
}
