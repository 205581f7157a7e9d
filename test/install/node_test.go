package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
)

// nodeName is the only node that runs containers.
const nodeName = "real"

// machine is the host of these tests.
type machine struct {
	*devplane.ControlPlane
	client        kubernetes.Interface
	work, runtime string
	kubectlPath   string
	processes     []*proc.Process
}

var host *machine

func inside(m *testing.M) int {
	work := os.Getenv(workEnv)
	h := &machine{work: work, runtime: os.Getenv(runtimeEnv)}
	ctx := context.Background()
	err := enter(work)
	if err == nil {
		err = h.begin(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/install:", err)
		h.logs()
		return 1
	}
	host = h
	code := m.Run()
	if err := h.end(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "test/install:", err)
		return 1
	}
	return code
}

func (h *machine) begin(ctx context.Context) error {
	for _, dir := range []string{"cni", "logs", "volumes"} {
		if err := os.MkdirAll(filepath.Join(h.work, dir), 0o755); err != nil {
			return err
		}
	}
	var err error
	h.ControlPlane, err = devplane.Start(ctx, devplane.Options{
		Dir:        filepath.Join(h.work, "plane"),
		Components: []string{devplane.ControllerManager, devplane.Scheduler, devplane.Kwok},
		AuditLog:   true,
		ExtraSANs:  []string{nodeIP},
		ExtraArgs: map[string][]string{devplane.APIServer: {
			"--bind-address=0.0.0.0", "--advertise-address=" + nodeIP, "--endpoint-reconciler-type=lease",
			"--enable-aggregator-routing", // the API server calls webhooks at their pods, because there is no kube-proxy
		}},
		Log: os.Stderr,
	})
	if err != nil {
		return err
	}
	if h.kubectlPath, err = h.Assets.Path(devplane.Kubectl); err != nil {
		return err
	}
	config, err := h.RESTConfig()
	if err != nil {
		return err
	}
	if h.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if err := forward(serviceIP+":443", fmt.Sprintf("127.0.0.1:%d", h.Ports.APIServer)); err != nil {
		return err
	}
	if err := h.containerd(ctx); err != nil {
		return err
	}
	return h.kubelet(ctx)
}

func (h *machine) end(ctx context.Context) error {
	for i := len(h.processes) - 1; i >= 0; i-- {
		if err := h.processes[i].Stop(ctx, 10*time.Second); err != nil {
			return err
		}
	}
	return h.Stop(ctx)
}

// logs prints the end of the logs of processes that started before the node existed.
func (h *machine) logs() {
	files, _ := filepath.Glob(filepath.Join(h.work, "logs", "*.log"))
	for _, f := range files {
		content, _ := os.ReadFile(f)
		fmt.Fprintf(os.Stderr, "==> %s\n%s\n", filepath.Base(f), content[max(0, len(content)-6000):])
	}
}

func (h *machine) start(name string, args ...string) error {
	p, err := proc.Start(proc.Spec{
		Path: name, Args: args, Log: filepath.Join(h.work, "logs", filepath.Base(name)+".log"),
		Env: []string{"PATH=" + filepath.Join(h.work, "bin") + ":" + h.runtime + ":" + os.Getenv("PATH")},
	})
	if err != nil {
		return err
	}
	h.processes = append(h.processes, p)
	return nil
}

func (h *machine) socket() string { return filepath.Join(h.work, "containerd.sock") }

// containerd starts the container runtime, and loads the images.
func (h *machine) containerd(ctx context.Context) error {
	config := fmt.Sprintf(`version = 3
root = %[1]q
state = %[2]q
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
  address = %[3]q
[ttrpc]
  address = %[4]q
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "millwright.invalid/pause:devel"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [%[5]q]
    conf_dir = %[6]q
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = %[7]q
      SystemdCgroup = false
`, filepath.Join(h.work, "containerd"), filepath.Join(h.work, "containerd-state"), h.socket(), h.socket()+".ttrpc",
		h.runtime, filepath.Join(h.work, "cni"), filepath.Join(h.work, "bin", "runc"))
	network := fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "pods", "isDefaultGateway": true,
 "ipam": {"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": %q}]]}}]}`, filepath.Join(h.work, "addresses"), podRange)
	for file, content := range map[string]string{"containerd.toml": config, "cni/pods.conflist": network} {
		if err := os.WriteFile(filepath.Join(h.work, file), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := h.start(filepath.Join(h.runtime, "containerd"), "--config", filepath.Join(h.work, "containerd.toml")); err != nil {
		return err
	}
	if err := eventually(ctx, 30*time.Second, func() error { _, err := h.ctr(ctx, "version"); return err }); err != nil {
		return err
	}
	images, _ := filepath.Glob(filepath.Join(h.work, "images", "*", "*.oci.tar"))
	for _, i := range images {
		if _, err := h.ctr(ctx, "images", "import", i); err != nil {
			return err
		}
	}
	return nil
}

func (h *machine) ctr(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, filepath.Join(h.runtime, "ctr"), append([]string{"--address", h.socket(), "--namespace", "k8s.io"}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %v: %w: %s", args, err, out)
	}
	return string(out), nil
}

// kubelet starts the node, and waits until it is Ready.
func (h *machine) kubelet(ctx context.Context) error {
	path, err := h.Assets.Path(devplane.Kubelet)
	if err != nil {
		return err
	}
	kubeconfig, err := h.Kubeconfig("system:node:"+nodeName, "system:nodes")
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
port: 10250
readOnlyPort: 0
healthzPort: 10248
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %[2]q}}
authorization: {mode: Webhook}
tlsCertFile: %[3]s/plane/pki/serving.crt
tlsPrivateKeyFile: %[3]s/plane/pki/serving.key
containerRuntimeEndpoint: unix://%[4]s
cgroupDriver: cgroupfs
cgroupRoot: /%[5]s
failCgroupV1: false
failSwapOn: false
clusterDNS: []
resolvConf: /etc/resolv.conf
podLogsDir: %[3]s/logs/pods
volumePluginDir: %[3]s/volume-plugins
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
localStorageCapacityIsolation: false
`, nodeIP, h.CAFile(), h.work, h.socket(), filepath.Base(h.work))
	for file, content := range map[string]string{"kubelet.yaml": config, "kubelet.kubeconfig": string(kubeconfig)} {
		if err := os.WriteFile(filepath.Join(h.work, file), []byte(content), 0o600); err != nil {
			return err
		}
	}
	err = h.start(path, "--config", filepath.Join(h.work, "kubelet.yaml"), "--kubeconfig", filepath.Join(h.work, "kubelet.kubeconfig"),
		"--cert-dir", filepath.Join(h.work, "kubelet-pki"), "--root-dir", filepath.Join(h.work, "kubelet"),
		"--hostname-override", nodeName, "--node-ip", nodeIP)
	if err != nil {
		return err
	}
	return eventually(ctx, time.Minute, func() error {
		_, err := h.kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=1s", "node/"+nodeName)
		return err
	})
}

// kubectl runs kubectl as a user does.
func (h *machine) kubectl(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, h.kubectlPath, append([]string{"--kubeconfig", h.KubeconfigPath}, args...)...)
	c.Dir = "../.." // the root of the repository, in which the documents run their commands
	out, err := c.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %v: %w: %s", args, err, out)
	}
	return string(out), nil
}

// helm runs Helm as a user of the chart does.
func (h *machine) helm(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, filepath.Join(h.work, "bin", "helm"), append([]string{"--kubeconfig", h.KubeconfigPath}, args...)...)
	c.Dir = "../.."
	c.Env = append(os.Environ(), "HOME="+h.work)
	out, err := c.CombinedOutput()
	return string(out), err
}

// eventually repeats try until it has no error. When the time is over, it returns the last error.
func eventually(ctx context.Context, patience time.Duration, try func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
