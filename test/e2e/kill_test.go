package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// A kubelet that is killed is missed, and its node reports it.
func TestKilledKubelet(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "dead-" + d.name
		d.machine(t, f, name)
		pids := kubelets(t, f, name)
		if len(pids) != 1 {
			t.Fatalf("processes %v stand for machine %s, want exactly one", pids, name)
		}
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "node "+name+" not Ready", func(ctx context.Context) (string, error) {
			var n corev1.Node
			err := f.Client.Get(ctx, client.ObjectKey{Name: name}, &n)
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
					return "", nil
				}
			}
			return "it is Ready", err
		})
		kubectl(t, f, "", "-n", d.namespace, "delete", d.machines(), name, "--wait=false")
		d.gone(t, f, name)
		if left := kubelets(t, f, name); len(left) > 0 {
			t.Errorf("processes %v are left of machine %s", left, name)
		}
	})
}

// kubelets returns the processes of this fleet that simulate the machine.
func kubelets(t *testing.T, f *fleet.Fleet, name string) (pids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		args := bytes.Split(raw, []byte{0})
		if !bytes.Contains(raw, []byte(f.Dir)) || !has(args, "--name="+name) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func has(args [][]byte, arg string) bool {
	for _, a := range args {
		if string(a) == arg {
			return true
		}
	}
	return false
}

// userData creates a separate secret for a machine, with the content of the fleet's secret.
func userData(t *testing.T, f *fleet.Fleet, d dialect, name string) {
	t.Helper()
	var common corev1.Secret
	key := client.ObjectKey{Namespace: d.namespace, Name: fleet.UserDataSecret}
	if err := f.Client.Get(t.Context(), key, &common); err != nil {
		t.Fatal(err)
	}
	own := &corev1.Secret{Data: common.Data}
	own.Namespace, own.Name = d.namespace, name
	if err := f.Client.Create(t.Context(), own); err != nil {
		t.Fatal(fmt.Errorf("make secret %s: %w", name, err))
	}
}
