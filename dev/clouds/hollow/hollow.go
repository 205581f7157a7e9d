// Package hollow boots simulated instances: each is a process of this host, a real kubelet over a fake
// container runtime, that joins the cluster in its user data.
package hollow

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Hypervisor runs guests as processes, which end with this one. It implements [double.Hypervisor].
type Hypervisor struct {
	// Command is the path of the program and its first arguments.
	Command []string
	// Dir holds one folder for each guest, named by its ID.
	Dir string
	// Fallback is the bootstrap kubeconfig of guests whose user data has none, because real machines fetch it
	// from a server that does not exist here; nil: such a guest does not join.
	Fallback []byte

	mu     sync.Mutex
	guests map[string]context.CancelFunc
}

var _ double.Hypervisor = &Hypervisor{}

// pause is the delay before a kubelet that ended is started again.
const pause = 2 * time.Second

// Start implements [double.Hypervisor].
func (h *Hypervisor) Start(_ context.Context, g double.Guest) error {
	kubeconfig, err := Kubeconfig(g.UserData)
	if errors.Is(err, ErrNoKubeconfig) && h.Fallback != nil {
		kubeconfig, err = h.Fallback, nil
	}
	if err != nil {
		return err
	}
	dir := filepath.Join(h.Dir, g.ID)
	if err := prepare(dir, kubeconfig); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.guests == nil {
		h.guests = map[string]context.CancelFunc{}
	}
	if _, ok := h.guests[g.ID]; ok {
		return nil
	}
	// Not the caller's context: a guest runs until it is stopped.
	ctx, stop := context.WithCancel(context.Background())
	h.guests[g.ID] = stop
	go h.keep(ctx, dir, flags(g, dir))
	return nil
}

// Stop implements [double.Hypervisor].
func (h *Hypervisor) Stop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if stop := h.guests[id]; stop != nil {
		stop()
	}
	delete(h.guests, id)
}

// prepare writes the files of the user data to the guest's disk.
func prepare(dir string, kubeconfig []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var c struct {
		Clusters []struct {
			Cluster struct {
				CA string `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := yaml.Unmarshal(kubeconfig, &c); err != nil || len(c.Clusters) == 0 {
		return fmt.Errorf("read the bootstrap kubeconfig: %w", errors.Join(err, ErrNoKubeconfig))
	}
	ca, err := base64.StdEncoding.DecodeString(c.Clusters[0].Cluster.CA)
	if err != nil {
		return fmt.Errorf("read the CA of the bootstrap kubeconfig: %w", err)
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "ca.crt"), ca, 0o600),
		os.WriteFile(filepath.Join(dir, "bootstrap-kubeconfig"), kubeconfig, 0o600))
}

func flags(g double.Guest, dir string) []string {
	out := []string{
		"--name=" + g.NodeName, "--provider-id=" + g.ProviderID, "--root-dir=" + dir,
		"--kubeconfig=" + filepath.Join(dir, "kubeconfig"),
		"--bootstrap-kubeconfig=" + filepath.Join(dir, "bootstrap-kubeconfig"),
		"--client-ca-file=" + filepath.Join(dir, "ca.crt"),
	}
	if len(g.Addresses) > 0 {
		out = append(out, "--node-ip="+g.Addresses[0])
	}
	if g.VCPUs > 0 {
		out = append(out, "--cores="+strconv.FormatInt(g.VCPUs, 10))
	}
	if g.MemoryMiB > 0 {
		out = append(out, "--memory="+strconv.FormatInt(g.MemoryMiB, 10)+"Mi")
	}
	var labels []string
	for key, value := range map[string]string{
		"topology.kubernetes.io/region": g.Region, "topology.kubernetes.io/zone": g.Zone, "node.kubernetes.io/instance-type": g.Type,
	} {
		if value != "" {
			labels = append(labels, key+"="+value)
		}
	}
	if len(labels) > 0 {
		slices.Sort(labels)
		out = append(out, "--node-labels="+strings.Join(labels, ","))
	}
	return out
}

// keep runs the guest's kubelet until ctx ends, again and again.
func (h *Hypervisor) keep(ctx context.Context, dir string, flags []string) {
	// The kernel ends a child with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for ctx.Err() == nil {
		if err := h.run(ctx, dir, flags); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "the kubelet in %s ended: %v\n", dir, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	_ = os.RemoveAll(dir)
}

func (h *Hypervisor) run(ctx context.Context, dir string, flags []string) error {
	log, err := os.OpenFile(filepath.Join(dir, "kubelet.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c := exec.CommandContext(ctx, h.Command[0], append(slices.Clone(h.Command[1:]), flags...)...) //nolint:gosec // The user who starts the simulator chooses the command.
	c.Dir, c.Stdout, c.Stderr = dir, log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c.Run()
}
