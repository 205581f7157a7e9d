package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/provider/remote"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// asProgram makes the test's own binary run as the program.
const asProgram = "PROVIDER_KUBEMARK_ARGS"

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(asProgram); ok {
		ctx, stop := context.WithCancel(context.Background())
		go func() { // it ends with the test
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
		if err := run(ctx, strings.Split(args, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// sidecar is the program as a process, with a directory that outlives it.
type sidecar struct {
	t   *testing.T
	dir string

	mu sync.Mutex
	// cmds are the live processes; the last one is the current one.
	cmds []*exec.Cmd
}

func newSidecar(t *testing.T) *sidecar {
	dir, err := os.MkdirTemp("", "sidecar")
	if err != nil {
		t.Fatal(err)
	}
	s := &sidecar{t: t, dir: dir}
	t.Cleanup(func() {
		s.kill()
		_ = os.RemoveAll(dir)
	})
	return s
}

// kill kills the processes.
func (s *sidecar) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cmd := range s.cmds {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	s.cmds = nil
}

// start starts a new process in place of a killed one, whose socket it takes over.
func (s *sidecar) start() provider.Provider {
	s.kill()
	return s.another()
}

// another starts a process beside the live ones, at a socket of its own.
func (s *sidecar) another() provider.Provider {
	s.mu.Lock()
	defer s.mu.Unlock()
	socket := "unix://" + filepath.Join(s.dir, fmt.Sprintf("%d.sock", len(s.cmds)))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProgram+"="+strings.Join([]string{"--listen", socket, "--kubemark-dir", filepath.Join(s.dir, "instances")}, "\n"))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		panic(err) // the suite starts providers on goroutines of its own
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	s.cmds = append(s.cmds, cmd)
	c, err := remote.Dial(remote.Config{Name: "kubemark", Address: socket})
	if err != nil {
		panic(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	s.await(c)
	return c
}

// await waits for the process to start.
func (s *sidecar) await(c *remote.Client) {
	class := provider.Class{API: provider.Gardener, Cluster: "await", Spec: []byte(`{}`)}
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if _, err := c.Open(s.t.Context(), class); err == nil {
			return
		}
	}
	panic("the program does not answer")
}

const quick = `"createLatency":"30ms","bootLatency":"20ms","deleteLatency":"40ms","zones":["a","b"],"initialize":true}`

var specs = map[string]string{
	provider.OpenShift: `{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1","kind":"KubemarkMachineProviderConfig",` + quick,
	provider.Gardener:  `{` + quick,
}

// TestSidecarConforms: the program meets the contract as a process of its own that is killed whenever the
// suite starts a new one, in both APIs.
func TestSidecarConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		s := newSidecar(t)
		console := func() kubemark.Console {
			p, err := kubemark.New(kubemark.Config{Dir: filepath.Join(s.dir, "instances"), Clock: clock.RealClock{}})
			if err != nil {
				panic(err)
			}
			return p.Console()
		}
		fresh := s.start
		if strings.Contains(t.Name(), "create_concurrently") {
			fresh = s.another // an old and a new leader, each with its own
		}
		return providertest.Harness{
			Start: fresh,
			Class: func(api, cluster string) provider.Class {
				return provider.Class{API: api, Cluster: cluster, Spec: []byte(specs[api])}
			},
			Spellings: func(i provider.Instance) []string { return []string{"Kubemark:///" + strings.ToUpper(i.NodeName)} },
			Knobs: providertest.Knobs{
				Plant: func(class provider.Class, i provider.Instance) error {
					_, err := console().Plant(t.Context(), class, i)
					return err
				},
				Rotate: func(class provider.Class) (provider.Class, error) {
					class.Credentials = map[string][]byte{"password": []byte("rotated")}
					return class, console().SetPassword("rotated")
				},
				Leave: func(class provider.Class, ref provider.Ref) error { return console().Leave(class, ref) },
				Count: func(class provider.Class) (instances, dependants int, err error) {
					all, err := console().Instances(t.Context(), class.Cluster)
					if err != nil {
						return 0, 0, err
					}
					dependants, err = console().Dependants(class.Cluster)
					return len(all), dependants, err
				},
			},
		}
	})
}

// TestPatternsAgree: the patterns for provider IDs match the provider's own Identify.
func TestPatternsAgree(t *testing.T) {
	s := newSidecar(t)
	c := s.start()
	class := provider.Class{API: provider.Gardener, Cluster: "prod", Spec: []byte(`{}`)}
	far, err := c.Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	p, err := kubemark.New(kubemark.Config{Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	near, err := p.Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{
		"", "kubemark", "kubemark:", "kubemark:/", "kubemark:/a", "kubemark://",
		"kubemark://a", "kubemark:///a", "Kubemark:////A-b.C", "kubemark://a/b", " kubemark://a", "kubemark://a\nb",
	} {
		if a, b := provider.Identifier(far)(id), provider.Identifier(near)(id); a != b {
			t.Errorf("%q is named %q over the wire, and %q by the provider", id, a, b)
		}
	}
}

// TestSidecarThatIsStopped: a stopped process does not answer, although it listens, and continues normally
// afterwards.
func TestSidecarThatIsStopped(t *testing.T) {
	s := newSidecar(t)
	c := s.start()
	class := provider.Class{API: provider.Gardener, Cluster: "prod", Spec: []byte(`{}`)}
	session, err := c.Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	ref := provider.Ref{UID: "uid-1", Name: "m"}
	if err := s.cmds[0].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The signal is sent; on a busy machine it stops the process later.
	if _, err := syscall.Wait4(s.cmds[0].Process.Pid, nil, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func(context.Context) error{
		"open": func(ctx context.Context) error { _, err := c.Open(ctx, class); return err },
		"find": func(ctx context.Context) error { _, err := session.Find(ctx, ref); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		begun, err := time.Now(), call(ctx)
		if cancel(); provider.KindOf(err) != provider.Transient || time.Since(begun) > 10*time.Second {
			t.Errorf("%s: %v after %v", what, err, time.Since(begun))
		}
	}
	if err := s.cmds[0].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if found, err := session.Find(t.Context(), ref); err != nil || len(found) > 0 {
		t.Errorf("afterwards: %v, %v", found, err)
	}
}

// TestProgramSaysWhatIsWrong: the program reports errors in its flags.
func TestProgramSaysWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"":                        "neither unix:///path nor host:port",
		"--listen=127.0.0.1:0":    "TLS on both sides",
		"--kubemark-backend=none": "none",
		"--target-kubeconfig=/no": "--target-kubeconfig",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := run(ctx, strings.Fields(args))
		if cancel(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
