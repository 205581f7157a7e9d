// hollow: a real kubelet (bootstrap, client and serving certificate rotation, authn/authz, leases, eviction of pods) over a fake CRI, fake cAdvisor and stub container manager.
package hollow

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/record"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	fakeremote "k8s.io/cri-client/pkg/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	utiltaints "k8s.io/kubernetes/pkg/util/taints"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

type cadv struct {
	cadvisortest.Fake
	cores int
	mem   uint64
}

func (c *cadv) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{NumCores: c.cores, NumSockets: 1, NumPhysicalCores: c.cores, MemoryCapacity: c.mem, SystemUUID: c.NodeName, MachineID: c.NodeName, BootID: c.NodeName}, nil
}
func (c *cadv) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{KernelVersion: "6.1.0-hollow", ContainerOsVersion: "Hollow Linux"}, nil
}

func Main() {
	fs := pflag.CommandLine
	name := fs.String("name", "", "node name")
	kc := fs.String("kubeconfig", "", "")
	bkc := fs.String("bootstrap-kubeconfig", "", "")
	root := fs.String("root-dir", "", "")
	provider := fs.String("provider-id", "", "")
	addr := fs.String("address", "127.0.0.1", "")
	port := fs.Int32("port", 10250, "")
	nodeIP := fs.String("node-ip", "", "")
	ca := fs.String("client-ca-file", "", "")
	serverCSR := fs.Bool("server-csr", true, "request a serving certificate by CSR")
	cloud := fs.String("cloud-provider", "", "external or empty")
	cores := fs.Int("cores", 4, "")
	mem := fs.Uint64("memory", 16<<30, "")
	labels := map[string]string{}
	lf := cliflag.ConfigurationMap(labels)
	fs.Var(&lf, "node-labels", "")
	taints := fs.StringSlice("taints", nil, "")
	gofs := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(gofs)
	fs.AddGoFlagSet(gofs)
	pflag.Parse()
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "hollow:", err)
			os.Exit(1)
		}
	}
	must(os.MkdirAll(filepath.Join(*root, "static"), 0o700))
	must(os.MkdirAll(filepath.Join(*root, "logs"), 0o700))

	f := options.NewKubeletFlags()
	f.RootDirectory, f.CertDirectory = *root, filepath.Join(*root, "pki")
	f.HostnameOverride, f.NodeLabels, f.NodeIP = *name, labels, *nodeIP
	f.KubeConfig, f.BootstrapKubeconfig = *kc, *bkc
	f.CloudProvider = *cloud

	c, err := options.NewKubeletConfiguration()
	must(err)
	endpoint := "unix://" + filepath.Join(*root, "cri.sock")
	os.Remove(filepath.Join(*root, "cri.sock"))
	c.ContainerRuntimeEndpoint, c.ImageServiceEndpoint = endpoint, endpoint
	c.Address, c.Port, c.ReadOnlyPort, c.HealthzPort = *addr, *port, 0, 0
	c.ProviderID = *provider
	c.StaticPodPath, c.PodLogsDir = filepath.Join(*root, "static"), filepath.Join(*root, "logs")
	c.CgroupsPerQOS, c.CgroupRoot, c.EnforceNodeAllocatable = false, "", nil
	c.FailCgroupV1, c.FailSwapOn = false, false
	c.EnableControllerAttachDetach = false
	c.MakeIPTablesUtilChains = false // otherwise a root kubelet edits the host's iptables
	c.LocalStorageCapacityIsolation = false
	c.RotateCertificates, c.ServerTLSBootstrap = true, *serverCSR
	c.Authentication.X509.ClientCAFile = *ca
	c.Authentication.Anonymous.Enabled = false
	c.Authentication.Webhook.Enabled = true
	c.Authorization.Mode = "Webhook"
	c.MaxPods = 110
	c.RegisterNode = true
	c.NodeStatusUpdateFrequency = metav1.Duration{Duration: 5 * time.Second}
	c.EvictionHard = map[string]string{}
	c.OOMScoreAdj = 0
	c.ResolverConfig = ""
	for _, t := range *taints {
		ts, _, err := utiltaints.ParseTaints([]string{t})
		must(err)
		c.RegisterWithTaints = append(c.RegisterWithTaints, ts...)
	}

	rt := fakeremote.NewFakeRemoteRuntime()
	must(rt.Start(endpoint))
	tlsOpts, err := app.InitializeTLS(ctx, f, c)
	must(err)
	var plugins []volume.VolumePlugin
	plugins = append(plugins, emptydir.ProbeVolumePlugins()...)
	plugins = append(plugins, hostpath.FakeProbeVolumePlugins(volume.VolumeConfig{})...)
	plugins = append(plugins, secret.ProbeVolumePlugins()...)
	plugins = append(plugins, configmap.ProbeVolumePlugins()...)
	plugins = append(plugins, projected.ProbeVolumePlugins()...)
	_ = v1.ResourceCPU
	_ = strings.TrimSpace
	deps := &kubelet.Dependencies{
		TracerProvider:            noop.NewTracerProvider(),
		CAdvisorInterface:         &cadv{Fake: cadvisortest.Fake{NodeName: *name}, cores: *cores, mem: *mem},
		OSInterface:               &containertest.FakeOS{},
		ContainerManager:          cm.NewStubContainerManager(),
		VolumePlugins:             plugins,
		TLSOptions:                tlsOpts,
		OOMAdjuster:               oom.NewFakeOOMAdjuster(),
		Mounter:                   &mount.FakeMounter{},
		Subpather:                 &subpath.FakeSubpath{},
		HostUtil:                  hostutil.NewFakeHostUtil(nil),
		PodStartupLatencyTracker:  kubeletutil.NewPodStartupLatencyTracker(),
		NodeStartupLatencyTracker: kubeletutil.NewNodeStartupLatencyTracker(),
		Recorder:                  &record.FakeRecorder{},
	}
	must(app.Run(ctx, &options.KubeletServer{KubeletFlags: *f, KubeletConfiguration: *c}, deps, utilfeature.DefaultFeatureGate))
}
