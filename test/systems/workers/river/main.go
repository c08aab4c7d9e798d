// Command river is a worker of river's; `river add JOB...` adds jobs, and `river list` prints those that are
// not completed.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"drainit/test/systems/workers"
)

// task is a job's arguments.
type task struct {
	Job string `json:"job"`
}

// Kind is the name of the worker for it.
func (task) Kind() string { return "task" }

type worker struct {
	river.WorkerDefaults[task]
}

// Work does a job.
func (worker) Work(ctx context.Context, job *river.Job[task]) error {
	return workers.Run(ctx, job.Args.Job)
}

var ctx = context.Background()

func main() {
	pool, err := pgxpool.New(ctx, os.Getenv("BROKER_URL"))
	workers.Must(err)
	driver := riverpgxv5.New(pool)
	switch {
	case len(os.Args) == 1:
		work(driver)
	case os.Args[1] == "add":
		add(driver, os.Args[2:])
	default:
		rows, err := pool.Query(ctx, "SELECT args->>'job' FROM river_job WHERE state <> 'completed'")
		workers.Must(err)
		for rows.Next() {
			var job string
			workers.Must(rows.Scan(&job))
			workers.Print(job, "")
		}
		workers.Must(rows.Err())
	}
}

func work(driver *riverpgxv5.Driver) {
	all := river.NewWorkers()
	river.AddWorker(all, worker{})
	client, err := river.NewClient(driver, &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2}},
		Workers: all, SoftStopTimeout: workers.Limit(),
	})
	workers.Must(err)
	stop, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	workers.Must(client.Start(ctx))
	<-stop.Done()
	workers.Must(client.Stop(ctx))
}

func add(driver *riverpgxv5.Driver, jobs []string) {
	migrator, err := rivermigrate.New(driver, nil)
	workers.Must(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	workers.Must(err)
	client, err := river.NewClient(driver, &river.Config{})
	workers.Must(err)
	for _, job := range jobs {
		_, err := client.Insert(ctx, task{job}, nil)
		workers.Must(err)
	}
}
