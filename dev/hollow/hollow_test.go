package hollow

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	"k8s.io/klog/v2"
)

func TestParseOptions(t *testing.T) {
	base := []string{"--name=n", "--root-dir=/r"}
	cases := []struct {
		reason string
		args   []string
		err    string
		check  func(*options) bool
	}{
		{"memory may be a quantity", append(base, "--memory=2Gi"), "", func(o *options) bool { return o.memoryBytes == 2<<30 }},
		{"memory may be bytes", append(base, "--memory=1000"), "", func(o *options) bool { return o.memoryBytes == 1000 }},
		{"the kubelet's own kubeconfig is below the root", base, "", func(o *options) bool { return o.kubeconfig == "/r/kubeconfig" }},
		{"several taints", append(base, "--register-with-taints=a=b:NoSchedule,c:NoExecute"), "", func(o *options) bool { return len(o.parsedTaints) == 2 }},
		{"several labels", append(base, "--node-labels=a=b,c=d"), "", func(o *options) bool { return o.labels["a"] == "b" && o.labels["c"] == "d" }},
		{"a name is required", []string{"--root-dir=/r"}, "--name", nil},
		{"a root folder is required", []string{"--name=n"}, "--root-dir", nil},
		{"a wrong quantity is named", append(base, "--memory=lots"), "--memory", nil},
		{"a negative quantity is refused", append(base, "--memory=-1Gi"), "--memory", nil},
		{"no cores is no machine", append(base, "--cores=0"), "--cores", nil},
		{"a wrong taint is named", append(base, "--register-with-taints=a=b:Never"), "--register-with-taints", nil},
		{"huge pages are counted by their size in KiB", append(base, "--resources=hugepages-2Mi=1Gi,hugepages-1Gi=2Gi"), "", func(o *options) bool {
			return slices.Equal(o.further.pages, []cadvisorapi.HugePagesInfo{{PageSize: 1 << 20, NumPages: 2}, {PageSize: 2 << 10, NumPages: 512}})
		}},
		{"devices and storage", append(base, "--resources=example.com/device=2,ephemeral-storage=10Gi"), "", func(o *options) bool {
			has := newManager(o.further)
			devices, allocatable, _ := has.GetDevicePluginResourceCapacity(klog.Background())
			device, same, storage := devices["example.com/device"], allocatable["example.com/device"], has.GetCapacity(klog.Background(), false)["ephemeral-storage"]
			return device.Value() == 2 && same.Value() == 2 && storage.Value() == 10<<30
		}},
		{"half a page is none", append(base, "--resources=hugepages-2Mi=3Mi"), "hugepages-2Mi", nil},
		{"pages of no size", append(base, "--resources=hugepages-2M=2M"), "hugepages-2M", nil},
		{"pages smaller than the machine can say", append(base, "--resources=hugepages-512=512"), "hugepages-512", nil},
		{"half a device is none", append(base, "--resources=example.com/device=500m"), "example.com/device", nil},
		{"a resource without quantity", append(base, "--resources=example.com/device"), "example.com/device", nil},
		{"less than nothing", append(base, "--resources=example.com/device=-1"), "example.com/device", nil},
		{"what has a flag of its own", append(base, "--resources=cpu=4"), "cpu", nil},
		{"a forgotten dash is noticed", append(base, "memory=1Gi"), "memory=1Gi", nil},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			o, err := parseOptions(c.args)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error is %v, want one about %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(o) {
				t.Errorf("parsed to %+v", o)
			}
		})
	}
	klog.Flush()
}

func TestChoosePort(t *testing.T) {
	first, err := choosePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if first < firstPort || first > lastPort {
		t.Errorf("port %d is out of range", first)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(first))))
	if err != nil {
		t.Fatal("the chosen port is not free:", err)
	}
	defer listener.Close()
	if portIsFree("127.0.0.1", int(first)) {
		t.Error("a port somebody listens on counts as free")
	}
}

func TestPrepareRoot(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chdir(wd); err != nil {
			t.Error(err)
		}
	})
	long := filepath.Join(t.TempDir(), strings.Repeat("x", maxRootPath))
	root, err := prepareRoot(long)
	if err != nil {
		t.Fatal(err)
	}
	if len(root.dir) > maxRootPath {
		t.Errorf("%s is too long for sockets", root.dir)
	}
	if err := os.WriteFile(root.path("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(long, "file")); err != nil {
		t.Errorf("the alias is another folder: %v", err)
	}
}
