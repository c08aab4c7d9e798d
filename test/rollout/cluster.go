package rollout

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"embed"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed files
var files embed.FS

// file is the text of an embedded file.
func file(name string) string {
	text, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// cluster is a Kubernetes of one node in a folder.
type cluster struct {
	dir       string
	namespace string                  // of kubectl's calls
	fail      context.CancelCauseFunc // ends the run when a daemon has exited
}

// up starts the daemons, and returns when the node is ready and has the images. runtime is the node's default
// one, and stanzas are those of others.
func (c *cluster) up(ctx context.Context, runtime, stanzas string) error {
	token := rand.Text()
	fill := strings.NewReplacer("@DIR@", c.dir, "@IMAGE@", image, "@TOKEN@", token, "@RUNTIME@", runtime,
		"@STANZAS@", stanzas)
	if err := c.configure(fill, token); err != nil {
		return err
	}
	ready := map[string]func() error{
		"containerd":     func() error { return run(c.ctr(ctx, "version")) },
		"kube-apiserver": func() error { return c.do(ctx, "get", "--raw", "/readyz") },
		"kubelet":        func() error { return c.do(ctx, "wait", "--for=condition=Ready", "node/node") },
	}
	for line := range strings.Lines(strings.ReplaceAll(fill.Replace(file("daemons")), "\n\t", " ")) {
		argv := strings.Fields(line)
		if err := c.start(ctx, argv); err != nil {
			return err
		}
		if check := ready[argv[0]]; check != nil {
			if err := until(ctx, patience, argv[0]+" is ready", check); err != nil {
				return err
			}
		}
	}
	return run(c.ctr(ctx, "images", "import", filepath.Join(c.dir, "image.tar")))
}

// configure writes what the daemons read. The API server makes its certificate itself: the key is for
// the tokens of service accounts.
func (c *cluster) configure(fill *strings.Replacer, token string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	for _, dir := range []string{"cni", "log", "queues"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(c.dir, dir), 0o755))
	}
	for to, text := range map[string]string{
		"key.pem":           string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})),
		"tokens.csv":        token + ",admin,1,system:masters\n",
		"kubeconfig":        file("kubeconfig"),
		"containerd.toml":   file("containerd.toml"),
		"kubelet.yaml":      file("kubelet.yaml"),
		"cni/pods.conflist": file("pods.conflist"),
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(c.dir, to), []byte(fill.Replace(text)), 0o600))
	}
	return err
}

// start starts a daemon, whose end ends the run.
func (c *cluster) start(ctx context.Context, argv []string) error {
	name := filepath.Join(c.dir, "log", argv[0])
	log, err := os.Create(name)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		err := cmd.Wait()
		text, _ := os.ReadFile(name)
		c.fail(fmt.Errorf("%s has ended: %v\n%s", argv[0], err, text[max(0, len(text)-2000):]))
	}()
	return nil
}

// ctr is a command for containerd, in the namespace of Kubernetes' containers.
func (c *cluster) ctr(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ctr", append([]string{"--address",
		filepath.Join(c.dir, "containerd.sock"), "--namespace", "k8s.io"}, args...)...)
}

// kubectl is a command for the API server, and do runs one.
func (c *cluster) kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "kubectl",
		append([]string{"--kubeconfig", filepath.Join(c.dir, "kubeconfig"), "--namespace", c.namespace},
			args...)...)
}

func (c *cluster) do(ctx context.Context, args ...string) error { return run(c.kubectl(ctx, args...)) }

// patience is how long a step of the cluster may take on a busy machine.
const patience = 5 * time.Minute

// until tries something until it succeeds.
func until(ctx context.Context, atMost time.Duration, what string, try func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, atMost, errors.New("it takes too long"))
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait until %s: %w\n%w", what, context.Cause(ctx), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
