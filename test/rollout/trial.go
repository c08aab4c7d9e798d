package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// rollouts is how often a Deployment is restarted.
const rollouts = 3

// row is what came of a trial.
type row struct {
	init contender
	mode mode
	counts
	ready, gone time.Duration // of a rollout: until the new pods are ready, and until the old have gone
	codes       string        // with which the containers have exited, one for each pod
}

// try updates a Deployment under load, and goes on until so many jobs have come.
func (c *cluster) try(ctx context.Context, i contender, m mode, jobs int) (r row, err error) {
	name := i.name + "-" + m.name
	q, err := listen(filepath.Join(c.dir, "queues", name), m.lease)
	if err != nil {
		return row{}, err
	}
	defer q.listener.Close()
	if err := c.deploy(ctx, i, m, name); err != nil {
		return row{}, err
	}
	exits, err := c.watch(ctx, name)
	if err != nil {
		return row{}, err
	}
	r = row{init: i, mode: m}
	for range rollouts {
		ready, gone, err := c.rollOut(ctx, name)
		if err != nil {
			return row{}, err
		}
		r.ready += ready / rollouts
		r.gone += gone / rollouts
		report("%s: new pods ready after %.0f s, old ones gone after %.0f s, %+v", name, ready.Seconds(),
			gone.Seconds(), q.count())
	}
	err = until(ctx, patience+time.Duration(jobs)*longest, name+" has done its jobs", func() error {
		if q.count().jobs < jobs || !q.drained() {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		return row{}, err
	}
	r.counts, r.codes = q.count(), exits()
	return r, c.do(ctx, "delete", "--wait=false", "deployment", name)
}

// deploy makes the Deployment of a contender, and waits until its pods are ready.
func (c *cluster) deploy(ctx context.Context, i contender, m mode, name string) error {
	yaml, patch, err := manifest(i, m, name, c.dir)
	if err != nil {
		return err
	}
	patched := c.kubectl(ctx, "patch", "--local", "-f", "-", "-o", "json", "-p", patch)
	patched.Stdin = strings.NewReader(yaml)
	text, err := output(patched)
	if err != nil {
		return err
	}
	create := c.kubectl(ctx, "create", "-f", "-")
	create.Stdin = strings.NewReader(text)
	if err := run(create); err != nil {
		return err
	}
	return c.rolledOut(ctx, name)
}

// rolledOut waits until all pods of a Deployment are new and ready.
func (c *cluster) rolledOut(ctx context.Context, name string) error {
	return c.do(ctx, "rollout", "status", "deployment", name, "--timeout", patience.String())
}

// rollOut replaces the pods of a Deployment.
func (c *cluster) rollOut(ctx context.Context, name string) (ready, gone time.Duration, err error) {
	old, err := output(c.kubectl(ctx, "get", "pods", "-l", "app="+name, "-o", "name"))
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := c.do(ctx, "rollout", "restart", "deployment", name); err != nil {
		return 0, 0, err
	}
	if err := c.rolledOut(ctx, name); err != nil {
		return 0, 0, err
	}
	ready = time.Since(began)
	err = c.do(ctx, append([]string{"wait", "--for=delete", "--timeout", patience.String()},
		strings.Fields(old)...)...)
	return ready, time.Since(began), err
}

// watch notes how the containers of a Deployment exit, until the function is called that it returns.
func (c *cluster) watch(ctx context.Context, name string) (exits func() string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var seen strings.Builder
	cmd := c.kubectl(ctx, "get", "pods", "--watch", "-l", "app="+name, "-o",
		`jsonpath={.metadata.name}{" "}{.status.containerStatuses[*].state.terminated.exitCode}{"\n"}`)
	cmd.Stdout = &seen
	return func() string {
		cancel()
		_ = cmd.Wait() // it was killed
		return exitCodes(seen.String())
	}, cmd.Start()
}

// exitCodes shows how many pods there are with each exit code, as "0 ×9". A line has a pod and, when that
// has ended, its code.
func exitCodes(lines string) string {
	pods, times := make(map[string]bool), make(map[string]int)
	for line := range strings.Lines(lines) {
		if f := strings.Fields(line); len(f) == 2 && !pods[f[0]] {
			pods[f[0]] = true
			times[f[1]]++
		}
	}
	var all []string
	for _, code := range slices.Sorted(maps.Keys(times)) {
		all = append(all, fmt.Sprintf("%s ×%d", code, times[code]))
	}
	return strings.Join(all, ", ")
}

// tryIn tries all inits at once: their workers do nothing but wait.
func (c *cluster) tryIn(ctx context.Context, m mode, s Settings, all []contender) ([]row, error) {
	chosen := slices.DeleteFunc(slices.Clone(all),
		func(i contender) bool { return !s.Inits.MatchString(i.name) })
	rows, failed := make([]row, len(chosen)), make([]error, len(chosen))
	var trials sync.WaitGroup
	for n, i := range chosen {
		in := *c
		in.namespace = cmp.Or(i.namespace, c.namespace)
		trials.Go(func() { rows[n], failed[n] = in.try(ctx, i, m, s.Jobs) })
	}
	trials.Wait()
	return rows, errors.Join(failed...)
}
