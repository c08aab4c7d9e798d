// Command worker is a worker of Temporal's; `worker add JOB...` starts a workflow for each job, and
// `worker list` prints those whose activity is not completed.
package main

import (
	"context"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"drainit/test/systems/workers"
)

var (
	ctx   = context.Background()
	queue = os.Getenv("QUEUE")
)

func main() {
	address, namespace, _ := strings.Cut(os.Getenv("BROKER_URL"), "/")
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace})
	workers.Must(err)
	switch {
	case len(os.Args) == 1:
		work(c)
	case os.Args[1] == "add":
		for _, job := range os.Args[2:] {
			options := client.StartWorkflowOptions{ID: queue + " " + job, TaskQueue: queue}
			_, err := c.ExecuteWorkflow(ctx, options, flow, job)
			workers.Must(err)
		}
	default:
		list(c)
	}
}

func flow(ctx workflow.Context, job string) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, run, job).Get(ctx, nil)
}

// run gives the job up a second before the worker's limit.
func run(ctx context.Context, job string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-activity.GetWorkerStopChannel(ctx)
		time.Sleep(workers.Limit() - time.Second)
		cancel()
	}()
	return workers.Run(ctx, job)
}

func work(c client.Client) {
	options := worker.Options{MaxConcurrentActivityExecutionSize: 2, WorkerStopTimeout: workers.Limit()}
	w := worker.New(c, queue, options)
	w.RegisterWorkflow(flow)
	w.RegisterActivity(run)
	workers.Must(w.Run(worker.InterruptCh()))
}

func list(c client.Client) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: "TaskQueue = '" + queue + "'"}
	all, err := c.ListWorkflow(ctx, request)
	workers.Must(err)
	for _, execution := range all.Executions {
		id := execution.Execution.WorkflowId
		completed := false
		events := c.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			workers.Must(err)
			completed = completed || event.EventType == enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
		}
		if _, job, _ := strings.Cut(id, " "); !completed {
			workers.Print(job, "")
		}
	}
}
