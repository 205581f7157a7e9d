package hollow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/hollow"
)

// eventually waits until what returns true, or fails with why.
func eventually(t *testing.T, why string, what func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !what(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(why)
		}
	}
}

func TestGuestRuns(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "said")
	h := &hollow.Hypervisor{Command: []string{"/bin/sh", "-c", `echo "$@" >>` + out + `; exec sleep 60`, "kubelet"}, Dir: dir}
	guest := double.Guest{
		ID: "i-1", NodeName: "ip-10-0-0-1", ProviderID: "aws:///eu-1a/i-1", Addresses: []string{"10.0.0.1", "10.0.0.2"},
		VCPUs: 2, MemoryMiB: 8192, Zone: "eu-1a", Type: "m5.large", UserData: []byte(kubeconfig),
	}
	if err := h.Start(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	said := func() string { raw, _ := os.ReadFile(out); return string(raw) }
	eventually(t, "it said nothing", func() bool { return said() != "" })
	for _, want := range []string{
		"--name=ip-10-0-0-1", "--provider-id=aws:///eu-1a/i-1", "--node-ip=10.0.0.1 ", "--cores=2", "--memory=8192Mi",
		"--node-labels=node.kubernetes.io/instance-type=m5.large,topology.kubernetes.io/zone=eu-1a",
	} {
		if !strings.Contains(said(), want) {
			t.Errorf("no %s in %s", want, said())
		}
	}
	h.Stop("i-1")
	eventually(t, "its folder is left", func() bool { _, err := os.Stat(filepath.Join(dir, "i-1")); return os.IsNotExist(err) })
}

func TestGuestWithoutKubeconfig(t *testing.T) {
	h := &hollow.Hypervisor{Command: []string{"/bin/true"}, Dir: t.TempDir()}
	guest := double.Guest{ID: "i-1", UserData: []byte("#!/bin/sh\nkubeadm join\n")}
	if err := h.Start(t.Context(), guest); err == nil {
		t.Error("it joined without a kubeconfig")
	}
	h.Fallback = []byte(kubeconfig)
	if err := h.Start(t.Context(), guest); err != nil {
		t.Error(err)
	}
	h.Stop("i-1")
}
