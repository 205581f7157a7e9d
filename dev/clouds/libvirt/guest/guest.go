// Package guest is the init process in the virtual machines of `make run PROVIDER=libvirt` and `make
// test-libvirt`: it reads the user data as cloud-init or Ignition would, and starts containerd and the
// kubelet, which joins the cluster in the user data. hack/libvirt builds its image.
package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/dev/clouds/hollow"
)

// Gateway is the address at which a guest reaches the API server: a proxy listens there.
const Gateway = "192.168.126.1:6443"

// Boot starts everything and returns the node's name.
func Boot() (name string, err error) {
	if err := errors.Join(mounts(), modules("/modules"), groups()); err != nil {
		return "", err
	}
	if err := network(); err != nil {
		return "", err
	}
	s, err := read()
	if err != nil {
		return "", err
	}
	if err := unix.Sethostname([]byte(s.hostname)); err != nil {
		return "", fmt.Errorf("set the host's name: %w", err)
	}
	// The container runtime copies it into pods.
	if err := os.WriteFile("/etc/hosts", []byte("127.0.0.1 localhost "+s.hostname+"\n"), 0o644); err != nil { //nolint:gosec // Everybody reads it.
		return "", err
	}
	server, err := Server(s.kubeconfig)
	if err != nil {
		return "", err
	}
	if err := forward(server, Gateway); err != nil {
		return "", err
	}
	if err := containerd(); err != nil {
		return "", err
	}
	return s.hostname, kubelet(s)
}

// settings are the guest's settings.
type settings struct {
	hostname   string
	kubeconfig []byte
}

const (
	cidata   = "/dev/vdb"
	firmware = "/sys/firmware/qemu_fw_cfg/by_name/opt/com.coreos/config/raw"
	// leased is the file in which the script of the DHCP client writes the host name.
	leased = "/run/hostname"
)

// read reads the user data from the firmware, as Ignition does, or else from a disk, as cloud-init does.
func read() (s settings, err error) {
	userData, err := os.ReadFile(firmware)
	if name, err := os.ReadFile(leased); err == nil {
		s.hostname = strings.TrimSpace(string(name))
	}
	if err != nil {
		var meta struct {
			Hostname string `json:"local-hostname"`
		}
		if err := unix.Mount(cidata, "/mnt", "iso9660", unix.MS_RDONLY, ""); err != nil {
			return s, fmt.Errorf("there is no user data: mount %s: %w", cidata, err)
		}
		raw, err := os.ReadFile("/mnt/meta-data")
		if err == nil {
			err = yaml.Unmarshal(raw, &meta)
		}
		if err != nil {
			return s, fmt.Errorf("read the guest's name: %w", err)
		}
		s.hostname = meta.Hostname
		if userData, err = os.ReadFile("/mnt/user-data"); err != nil {
			return s, err
		}
	}
	if s.hostname == "" {
		return s, errors.New("no file has the guest's name")
	}
	s.kubeconfig, err = hollow.Kubeconfig(userData)
	return s, err
}

// Server is the address of the API server in a kubeconfig.
func Server(kubeconfig []byte) (string, error) {
	var c struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := yaml.Unmarshal(kubeconfig, &c); err != nil || len(c.Clusters) == 0 {
		return "", errors.Join(errors.New("the kubeconfig names no cluster"), err)
	}
	u, err := url.Parse(c.Clusters[0].Cluster.Server)
	if err != nil {
		return "", fmt.Errorf("read the address of the API server: %w", err)
	}
	return u.Host, nil
}

// start runs a program for the guest's lifetime. Its output is on the guest's console.
func start(program string, args ...string) error {
	c := exec.Command(program, args...)
	c.Env = environment
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		return err
	}
	go func() { fmt.Printf("%s has ended: %v\n", filepath.Base(program), c.Wait()) }()
	return nil
}

var environment = []string{"PATH=/bin:/sbin:/opt/cni/bin", "HOME=/root"}

func run(program string, args ...string) error {
	c := exec.Command(program, args...)
	c.Env = environment
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	return nil
}

const runtimeConfig = `version = 3
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.blockfile"]
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "millwright.invalid/pause:devel"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
`

const podNetwork = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "pods", "isDefaultGateway": true,
 "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]]}}]}`

// containerd starts the container runtime, waits for it, and imports the available images.
func containerd() error {
	err := errors.Join(os.WriteFile("/etc/containerd.toml", []byte(runtimeConfig), 0o600), os.WriteFile("/etc/cni/net.d/pods.conflist", []byte(podNetwork), 0o600))
	if err != nil {
		return err
	}
	if err := start("/bin/containerd", "--config", "/etc/containerd.toml", "--log-level", "warn"); err != nil {
		return err
	}
	for range 600 {
		if err = run("/bin/ctr", "version"); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	images, _ := filepath.Glob("/images/*.tar")
	for _, i := range images {
		err = errors.Join(err, run("/bin/ctr", "--namespace", "k8s.io", "images", "import", i))
	}
	return err
}

// kubelet joins the cluster, with the provider ID of the machine controller: the guest's UUID is in its
// firmware.
func kubelet(s settings) error {
	raw, err := os.ReadFile("/sys/class/dmi/id/product_uuid")
	if err != nil {
		return fmt.Errorf("read the guest's UUID: %w", err)
	}
	config, err := json.Marshal(map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication":           map[string]any{"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true}},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock", "cgroupDriver": "cgroupfs", "failSwapOn": false,
		"rotateCertificates": true, "serverTLSBootstrap": true, "providerID": "libvirt:///" + strings.ToLower(strings.TrimSpace(string(raw))),
		"resolvConf": "/etc/resolv.conf", "makeIPTablesUtilChains": false, "evictionHard": map[string]any{"memory.available": "30Mi"},
		"runtimeRequestTimeout": "4m", "clusterDNS": []string{},
	})
	if err != nil {
		return err
	}
	const dir = "/var/lib/kubelet/"
	for file, content := range map[string][]byte{"config.json": config, "bootstrap.kubeconfig": s.kubeconfig} {
		if err := os.WriteFile(dir+file, content, 0o600); err != nil {
			return err
		}
	}
	return start("/bin/kubelet", "--config="+dir+"config.json", "--kubeconfig="+dir+"kubeconfig", "--bootstrap-kubeconfig="+dir+"bootstrap.kubeconfig",
		"--cert-dir="+dir+"pki", "--hostname-override="+s.hostname)
}
