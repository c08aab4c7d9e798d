// Command asynq is a worker of asynq's; `asynq add JOB...` adds jobs, and `asynq list` prints those that are
// left.
package main

import (
	"context"
	"os"

	"github.com/hibiken/asynq"

	"drainit/test/systems/workers"
)

func main() {
	redis, err := asynq.ParseRedisURI(os.Getenv("BROKER_URL"))
	workers.Must(err)
	switch {
	case len(os.Args) == 1:
		work(redis)
	case os.Args[1] == "add":
		client := asynq.NewClient(redis)
		for _, job := range os.Args[2:] {
			_, err := client.Enqueue(asynq.NewTask("job", []byte(job)))
			workers.Must(err)
		}
	default:
		list(asynq.NewInspector(redis))
	}
}

func work(redis asynq.RedisConnOpt) {
	server := asynq.NewServer(redis, asynq.Config{Concurrency: 2, ShutdownTimeout: workers.Limit()})
	workers.Must(server.Run(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		return workers.Run(ctx, string(task.Payload()))
	})))
}

// list calls a job that waits again given back: one whose worker has died stays with the active ones.
func list(inspector *asynq.Inspector) {
	type lister func(queue string, opts ...asynq.ListOption) ([]*asynq.TaskInfo, error)
	states := map[string]lister{
		"back":   inspector.ListPendingTasks,
		"active": inspector.ListActiveTasks,
		"failed": inspector.ListRetryTasks,
	}
	for state, of := range states {
		tasks, err := of("default")
		workers.Must(err)
		for _, task := range tasks {
			workers.Print(string(task.Payload), state)
		}
	}
}
